package intra

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/update"
)

// Once runs f on one replica of the rank and gives its result to all replicas. Programs use
// it to access the outside world, such as the time, a file or a random seed. f runs at
// least once. It runs again if the replica that ran it died before any other replica had the
// result. The result must hold no pointers. An error of f has the same text on every replica.
func Once[T any](p *Process, f func() (T, error)) (T, error) {
	var v T
	if r := update.Var(update.Out, "result", &v); r.Err() != nil {
		return v, fmt.Errorf("intra.Once: %w", r.Err())
	}
	b, err := OnceBytes(p, func() ([]byte, error) {
		v, err := f()
		return append([]byte(nil), bytesOf(&v)...), err
	})
	if err != nil {
		return v, err
	}
	if len(b) != len(bytesOf(&v)) {
		return v, fmt.Errorf("intra.Once: %w: a result of %d bytes came for type %T", ErrDiverged, len(b), v)
	}
	copy(bytesOf(&v), b)
	return v, nil
}

func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// OnceBytes is like Once, for a result of any length.
func OnceBytes(p *Process, f func() ([]byte, error)) ([]byte, error) {
	if err := p.refuse(); err != nil {
		return nil, err
	}
	if p != nil && p.trial != nil && p.section == nil {
		return p.trial.Once(func() ([]byte, error) { return onceBytes(p, f) })
	}
	return onceBytes(p, f)
}

func onceBytes(p *Process, f func() ([]byte, error)) ([]byte, error) {
	switch {
	case p.resuming():
		return nil, errors.New("intra.Once before the first SafePoint of a restored process: protect its result, and call it only if !p.Restored()")
	case p == nil:
		return engine.OnceAlone(f)
	case p.local() || p.run.Repeats():
		return p.run.Once(f)
	case p.section != nil && !p.alone():
		return nil, fmt.Errorf("intra.Once in the section opened at %s: every replica must call it, so call it before or after", p.section.position())
	}
	return p.engine.Once(f)
}
