package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or folder of the file system.
type node struct {
	fs.LoopbackNode
	cache *cache
}

var (
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
)

func (n *node) file() string { return filepath.Join(n.RootData.Path, n.Path(n.Root())) }

// Open implements fs.NodeOpener.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return n.open(n.file(), flags)
}

func (n *node) open(path string, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	access := os.O_RDONLY
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		access = os.O_RDWR
	}
	f, err := os.OpenFile(path, access, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return &handle{f, info.Sys().(*syscall.Stat_t).Ino, n.cache}, fuse.FOPEN_DIRECT_IO, 0
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, f, _, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	f.(fs.FileReleaser).Release(ctx)
	h, how, errno := n.open(filepath.Join(n.file(), name), flags)
	return inode, h, how, errno
}

// Getattr implements fs.NodeGetattrer.
func (n *node) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	errno := n.LoopbackNode.Getattr(ctx, nil, out)
	if out.Mode&syscall.S_IFMT == syscall.S_IFREG {
		out.Size = max(out.Size, uint64(n.cache.end(out.Ino)))
	}
	return errno
}

// Setattr implements fs.NodeSetattrer. Before the size changes, the pages are written.
func (n *node) Setattr(ctx context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, ok := in.GetSize(); ok {
		h, _, errno := n.open(n.file(), syscall.O_RDWR)
		if errno != 0 {
			return errno
		}
		defer h.(*handle).Close()
		if errno := h.(*handle).Fsync(ctx, 0); errno != 0 {
			return errno
		}
	}
	return n.LoopbackNode.Setattr(ctx, nil, in, out)
}

// handle is an open file.
type handle struct {
	*os.File
	inode uint64
	cache *cache
}

var (
	_ fs.FileReader   = (*handle)(nil)
	_ fs.FileWriter   = (*handle)(nil)
	_ fs.FileFsyncer  = (*handle)(nil)
	_ fs.FileFlusher  = (*handle)(nil)
	_ fs.FileReleaser = (*handle)(nil)
)

// Read implements fs.FileReader.
func (h *handle) Read(_ context.Context, b []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	info, err := h.Stat()
	if err == nil {
		b, err = h.cache.read(h.inode, h.File, info.Size(), b, at)
	}
	return fuse.ReadResultData(b), fs.ToErrno(err)
}

// Write implements fs.FileWriter.
func (h *handle) Write(_ context.Context, b []byte, at int64) (uint32, syscall.Errno) {
	n, err := h.cache.write(h, b, at)
	return uint32(n), fs.ToErrno(err)
}

// Fsync implements fs.FileFsyncer.
func (h *handle) Fsync(context.Context, uint32) syscall.Errno {
	return fs.ToErrno(h.cache.flush(h.inode, h.File))
}

// Flush implements fs.FileFlusher. It is called when a process closes the file or ends.
func (h *handle) Flush(ctx context.Context) syscall.Errno {
	if h.cache.mortal {
		return fs.OK
	}
	return h.Fsync(ctx, 0)
}

// Release implements fs.FileReleaser.
func (h *handle) Release(context.Context) syscall.Errno {
	if h.cache.mortal {
		h.cache.drop(h)
	}
	return fs.ToErrno(h.Close())
}
