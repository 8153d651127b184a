package intra

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/update"
)

// Once runs f on one replica of the rank and gives its result to all: the way
// to the outside world, such as the time, a file or a random seed. f runs at
// least once, and again if the replica that ran it died before any other had
// its result. The result holds no pointers. An error of f comes back on every
// replica with the same text.
func Once[T any](p *Process, f func() (T, error)) (T, error) {
	var v T
	if r := update.Var(update.Out, "result", &v); r.Err != nil {
		return v, fmt.Errorf("intra.Once: %w", r.Err)
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

// OnceBytes works like Once, for a result of any length.
func OnceBytes(p *Process, f func() ([]byte, error)) ([]byte, error) {
	if p != nil && p.trial != nil && p.section == nil {
		return p.trial.once(func() ([]byte, error) { return onceBytes(p, f) })
	}
	return onceBytes(p, f)
}

func onceBytes(p *Process, f func() ([]byte, error)) ([]byte, error) {
	if p.resuming() {
		return nil, errors.New("intra.Once before the first SafePoint of a restored process: protect its result, and call it only if !p.Restored()")
	}
	if p.alone() {
		if !p.local() {
			if err := p.engine.leased(p.engine.life); err != nil {
				return nil, err
			}
		}
		return decodeOnce(encodeOnce(f()))
	}
	if p.section != nil {
		return nil, fmt.Errorf("intra.Once in the section opened at %s: every replica must call it, so call it before or after", p.section.position())
	}
	return p.engine.runOnce(f)
}

// runOnce takes part in the next call of Once.
func (e *engine) runOnce(f func() ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	e.onceRun = false
	e.performOnce(e.once.Enter())
	for {
		seen := e.changes.Load()
		if result, ok := e.once.Done(); ok {
			e.once.Leave()
			e.mu.Unlock()
			return decodeOnce(result)
		}
		if e.err != nil { // the others may never come here
			defer e.mu.Unlock()
			return nil, diverged(e.err)
		}
		run := e.onceRun
		e.onceRun = false
		number := e.once.Number()
		e.mu.Unlock()
		if run {
			if err := e.leased(e.life); err != nil {
				return nil, err
			}
			result := encodeOnce(f())
			e.mu.Lock()
			e.performOnce(e.once.Result(e.setup.Self.Replica, number, result))
			continue
		}
		if err := e.ended(e.poller.Wait(e.life, func() bool { return e.changes.Load() != seen })); err != nil {
			return nil, err
		}
		e.mu.Lock()
	}
}

// performOnce carries out what the protocol of Once asks for, under the lock.
func (e *engine) performOnce(acts []section.OnceAction) {
	for _, a := range acts {
		m := update.Message{Section: a.Number, Deaths: a.Deaths}
		switch a.Kind {
		case section.OnceRun:
			e.onceRun = true
		case section.OnceSend:
			m.Kind = update.KindOnceResult
			e.notify(a.Peer, m, a.Result)
		case section.OnceSayHave:
			m.Kind = update.KindOnceHave
			e.notify(a.Peer, m)
		case section.OnceAsk:
			m.Kind = update.KindOnceQuery
			e.notify(a.Peer, m)
		case section.OnceSayNone:
			m.Kind = update.KindOnceNone
			e.notify(a.Peer, m)
		}
	}
}

// The result of a Once travels with a first byte that says whether the rest
// is the result or the text of an error.
const (
	onceOK byte = iota
	onceError
)

func encodeOnce(b []byte, err error) []byte {
	if err != nil {
		return append([]byte{onceError}, err.Error()...)
	}
	return append([]byte{onceOK}, b...)
}

func decodeOnce(b []byte) ([]byte, error) {
	switch {
	case len(b) == 0:
		return nil, fmt.Errorf("intra.Once: %w: an empty result", ErrDiverged)
	case b[0] == onceError:
		return nil, errors.New(string(b[1:]))
	}
	return b[1:], nil
}
