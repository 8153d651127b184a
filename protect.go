package intra

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// Measured is implemented by types whose values may differ between replicas, such as
// measured times. A registered variable of such a type, or a slice of it, is saved like any
// other state, but intrarun -sdc state does not compare it.
type Measured interface {
	Measured() // never called
}

// Protect registers the variable at x as state of the program. A process that replaces a
// lost one begins with this state, and so does a job that continues from a backup. x is the
// address of
//
//   - a slice of elements without pointers; its length is part of the state,
//     and the variable may be set to other slices at any time,
//   - a value of a type without pointers: numbers, arrays and structs of them,
//   - anything with the methods MarshalBinary and UnmarshalBinary.
//
// All state must be registered before the first SafePoint, in the same order and with the
// same names on every replica of a rank. Names are unique within a rank.
//
// In a restored process (see [Process.Restored]) Protect sets the variable before it
// returns. So the initialisation that a restored process skips may precede or follow it:
//
//	intra.Protect(p, "x", &x)
//	if !p.Restored() {
//		x = initial(n)
//	}
//
// A slice keeps its memory if the saved slice has the same length; otherwise it is
// allocated again. Slices that share memory are saved separately. They share it after a
// restart only if their lengths have not changed.
//
// Data that the program computes from protected state or from its arguments, such as a
// matrix, need not be protected if a restored process computes it again. Protect keeps an
// error for the first SafePoint, which returns it. For a nil *Process Protect does nothing.
func Protect[T any](p *Process, name string, x *T) {
	if p == nil {
		return
	}
	if err := p.run.Protect(name, x); err != nil {
		p.run.Fail(fmt.Errorf("%s: intra.Protect(%q): %w", callsite.Here(), name, err))
	}
}
