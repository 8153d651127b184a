//go:build linux

package shm

// toRead prefetches lines cache lines, at least one, for reading, beginning at p. It does not wait
// for them.
//
//go:noescape
func toRead(p *byte, lines int)

// toWrite prefetches lines cache lines, at least one, for writing, beginning at p. It does not
// wait for them.
//
//go:noescape
func toWrite(p *byte, lines int)
