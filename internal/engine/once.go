package engine

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/update"
)

// OnceAlone calls f for a rank alone. What comes back is as it would come from
// another replica.
func OnceAlone(f func() ([]byte, error)) ([]byte, error) { return decodeOnce(encodeOnce(f())) }

// Once takes part in the next call of Once: f runs on one replica, and all get
// its result.
func (e *Engine) Once(f func() ([]byte, error)) ([]byte, error) {
	if e.Serial() {
		if err := e.leased(e.life); err != nil {
			return nil, err
		}
		return OnceAlone(f)
	}
	return e.runOnce(f)
}

// runOnce takes part in the next call of Once.
func (e *Engine) runOnce(f func() ([]byte, error)) ([]byte, error) {
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
func (e *Engine) performOnce(acts []section.OnceAction) {
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
