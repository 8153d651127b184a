//go:build linux

package shm

// toRead asks for the cache lines from p on, at least one, without waiting for them.
//
//go:noescape
func toRead(p *byte, lines int)

// toWrite asks to own the cache lines from p on, at least one, without waiting.
//
//go:noescape
func toWrite(p *byte, lines int)
