package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
)

// cache is the memory of the host: written data that is not in the folder yet.
type cache struct {
	mu    sync.Mutex
	files map[uint64]*pages // by inode
	bytes int64
	count *os.File

	folder string
	quota  int64 // of all files together
	late   bool  // an fsync exceeds the quota, a write does not
	mortal bool  // closing a file drops its data
}

// pages are the writes to one file after the last fsync, in order.
type pages struct {
	writes []write
	end    int64
}

type write struct {
	by   *handle
	at   int64
	data []byte
}

// changed updates the number of bytes in the cache.
func (c *cache) changed(by int64) {
	c.bytes += by
	_, _ = c.count.WriteAt(fmt.Appendf(nil, "%-20d", c.bytes), 0) // read by a test
}

// write keeps as many of the bytes as the quota allows, and returns their number.
func (c *cache) write(by *handle, data []byte, at int64) (int, error) {
	inode := by.inode
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.late {
		room, err := c.room(inode, data, at)
		if err != nil {
			return 0, err
		}
		data = data[:room]
	}
	p := c.files[inode]
	if p == nil {
		p = new(pages)
		c.files[inode] = p
	}
	p.writes = append(p.writes, write{by, at, slices.Clone(data)})
	p.end = max(p.end, at+int64(len(data)))
	c.changed(int64(len(data)))
	return len(data), nil
}

// room returns how many bytes of a write the quota allows. The error is EDQUOT if it allows
// none.
func (c *cache) room(inode uint64, data []byte, at int64) (int, error) {
	if c.quota == math.MaxInt64 {
		return len(data), nil
	}
	list, err := os.ReadDir(c.folder)
	if err != nil {
		return 0, err
	}
	own, others := int64(0), int64(0)
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		i, size := info.Sys().(*syscall.Stat_t).Ino, info.Size()
		if p := c.files[i]; p != nil && !c.late {
			size = max(size, p.end)
		}
		if i == inode {
			own = size
		} else {
			others += size
		}
	}
	end := max(own, c.quota-others)
	if n := min(int64(len(data)), end-at); n > 0 || len(data) == 0 {
		return int(max(n, 0)), nil
	}
	return 0, syscall.EDQUOT
}

// flush writes the pages of a file to the folder.
func (c *cache) flush(inode uint64, to io.WriterAt) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.files[inode]
	if p == nil {
		return nil
	}
	for len(p.writes) > 0 {
		w := p.writes[0]
		room, err := len(w.data), error(nil)
		if c.late {
			room, err = c.room(inode, w.data, w.at)
		}
		if _, e := to.WriteAt(w.data[:room], w.at); err == nil && e != nil {
			return e
		}
		if err == nil && room < len(w.data) {
			err = syscall.EDQUOT
		}
		if err != nil { // as a kernel does, it forgets what it could not write
			for _, w := range p.writes {
				c.changed(-int64(len(w.data)))
			}
			delete(c.files, inode)
			return err
		}
		p.writes = p.writes[1:]
		c.changed(-int64(len(w.data)))
	}
	delete(c.files, inode)
	return nil
}

// drop forgets what was written through an open file.
func (c *cache) drop(by *handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.files[by.inode]
	if p == nil {
		return
	}
	p.writes = slices.DeleteFunc(p.writes, func(w write) bool {
		if w.by == by {
			c.changed(-int64(len(w.data)))
		}
		return w.by == by
	})
	p.end = 0
	for _, w := range p.writes {
		p.end = max(p.end, w.at+int64(len(w.data)))
	}
}

// end returns the end of the pages of a file.
func (c *cache) end(inode uint64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.files[inode]; p != nil {
		return p.end
	}
	return 0
}

// read reads a file of the given size as the processes of this host see it.
func (c *cache) read(inode uint64, from io.ReaderAt, size int64, b []byte, at int64) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.files[inode]
	if p != nil {
		size = max(size, p.end)
	}
	b = b[:max(0, min(int64(len(b)), size-at))]
	clear(b)
	if _, err := from.ReadAt(b, at); err != nil && err != io.EOF {
		return nil, err
	}
	if p == nil {
		return b, nil
	}
	for _, w := range p.writes {
		lo, hi := max(at, w.at), min(at+int64(len(b)), w.at+int64(len(w.data)))
		if lo < hi {
			copy(b[lo-at:hi-at], w.data[lo-w.at:])
		}
	}
	return b, nil
}
