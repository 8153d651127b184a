package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// cache is the memory of the host: written data that is not in the folder yet.
type cache struct {
	mu    sync.Mutex
	files map[uint64]*pages // by inode
	bytes int64
	count *os.File
}

// pages are the writes to one file after the last fsync, in order.
type pages struct {
	writes []write
	end    int64
}

type write struct {
	at   int64
	data []byte
}

// changed updates the number of bytes in the cache.
func (c *cache) changed(by int64) {
	c.bytes += by
	_, _ = c.count.WriteAt(fmt.Appendf(nil, "%-20d", c.bytes), 0) // read by a test
}

func (c *cache) write(inode uint64, data []byte, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.files[inode]
	if p == nil {
		p = new(pages)
		c.files[inode] = p
	}
	p.writes = append(p.writes, write{at, slices.Clone(data)})
	p.end = max(p.end, at+int64(len(data)))
	c.changed(int64(len(data)))
}

// flush writes the pages of a file to the folder.
func (c *cache) flush(inode uint64, to io.WriterAt) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.files[inode]
	if p == nil {
		return nil
	}
	for _, w := range p.writes {
		if _, err := to.WriteAt(w.data, w.at); err != nil {
			return err
		}
		c.changed(-int64(len(w.data)))
	}
	delete(c.files, inode)
	return nil
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
