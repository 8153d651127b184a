// Package simdisk simulates a file on a file system that hosts share. Each host keeps written
// pages in memory until it flushes them, and loses them when it is lost. It is for tests of
// this module.
package simdisk

import "slices"

// Disk is the file system. It holds the versions of one file as the server has them.
type Disk struct {
	Files     map[int][]byte // by version: durable contents
	Published []byte         // contents of the version that got the name of the file,
	Version   int            // and its number
}

// New returns a file system without files.
func New() *Disk { return &Disk{Files: make(map[int][]byte)} }

// Clone returns a copy.
func (d *Disk) Clone() *Disk {
	c := New()
	for v, b := range d.Files {
		c.Files[v] = slices.Clone(b)
	}
	return c
}

// Host is a host, with written pages that the server lacks.
type Host struct {
	Disk  *Disk
	Dirty []Page
}

// Page is a write to a version of the file.
type Page struct {
	Version int
	Offset  int64
	Data    []byte
}

// End returns the offset after the last byte.
func (p Page) End() int64 { return p.Offset + int64(len(p.Data)) }

// Put returns the contents of a file after a write.
func Put(file []byte, offset int64, data []byte) []byte {
	if n := int(offset) + len(data) - len(file); n > 0 {
		file = append(file, make([]byte, n)...)
	}
	copy(file[offset:], data)
	return file
}

// View returns the file as processes on the host see it.
func (h *Host) View(version int) []byte {
	file := slices.Clone(h.Disk.Files[version])
	for _, p := range h.Dirty {
		if p.Version == version {
			file = Put(file, p.Offset, p.Data)
		}
	}
	return file
}

// Write writes to a version of the file.
func (h *Host) Write(version int, offset int64, data []byte) {
	h.Dirty = append(h.Dirty, Page{version, offset, slices.Clone(data)})
}

// Flush writes the first n dirty pages to the server.
func (h *Host) Flush(n int) {
	for _, p := range h.Dirty[:n] {
		h.Disk.Files[p.Version] = Put(h.Disk.Files[p.Version], p.Offset, p.Data)
	}
	h.Dirty = h.Dirty[n:]
}

// Fsync writes all dirty pages to the server.
func (h *Host) Fsync() { h.Flush(len(h.Dirty)) }

// Truncate truncates a version to size, if it is longer.
func (h *Host) Truncate(version int, size int64) {
	h.Fsync() // after truncation the kernel writes no older pages beyond the end
	if f := h.Disk.Files[version]; int64(len(f)) > size {
		h.Disk.Files[version] = f[:size:size]
	}
}

// Copy copies the first size bytes of a version to another one, and makes them durable.
func (h *Host) Copy(from, to int, size int64) {
	f := h.View(from)
	h.Disk.Files[to] = slices.Clone(f[:min(int64(len(f)), size)])
}

// Publish gives a version the name of the file.
func (h *Host) Publish(version int) { h.Disk.Published, h.Disk.Version = h.View(version), version }
