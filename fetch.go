package intra

import (
	"fmt"
	"unsafe"
)

// Fetch makes memory that sections with [Keep] may have written current on all replicas of the
// rank. Code outside of sections may access such memory only after Fetch, until the next such
// section writes it. Every replica must call Fetch at the same place of the program, and not in
// a section. Fetch costs almost nothing if none of the memory is kept elsewhere. An error that
// wraps ErrRollback must be returned from run.
//
// Tasks need no Fetch for the memory that their clauses name, nor do messages and registered
// variables: the runtime fetches what they need.
func Fetch[T any](p *Process, parts ...[]T) error {
	mem := make([][]byte, len(parts))
	for i, s := range parts {
		mem[i] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(*new(T)))
	}
	return p.fetch("intra.Fetch", func() error { return p.engine.Fetch(mem...) })
}

// Settle is [Fetch] for all memory that is kept elsewhere. A program calls it before it uses
// many results, for example at its end.
func (p *Process) Settle() error {
	return p.fetch("intra.Settle", func() error { return p.engine.FetchAll() })
}

func (p *Process) fetch(call string, fetch func() error) error {
	if err := p.refuse(); err != nil {
		return err
	}
	if p == nil || p.engine == nil {
		return nil
	}
	if p.section != nil {
		return fmt.Errorf("%s in the section opened at %s: call it before or after", call, p.section.position())
	}
	if p.local() {
		return nil // this process alone computes what its sections write
	}
	if err := fetch(); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}
