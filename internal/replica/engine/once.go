package engine

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/update"
)

// onceCalls is the protocol of Once with the state of the program's calls.
type onceCalls struct {
	*section.Once
	wanted bool      // the protocol orders this replica to run the function
	inside bool      // the program is in Once
	here   bool      // the function of Once runs here
	ended  uint64    // calls of Once that have ended
	kept   *[][]byte // results for a second run of the program; nil: they are not kept
}

// Once takes part in the next call of Once. f runs on one replica, and all replicas get
// its result.
func (h *sharing) Once(f func() ([]byte, error)) ([]byte, error) {
	h.mu.Lock()
	h.once.inside = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.once.inside = false
		h.once.ended++
		h.mu.Unlock()
	}()
	if h.Serial() {
		b, err := h.callOnce(f)
		if err != nil {
			return nil, err
		}
		return decodeOnce(b)
	}
	return h.runOnce(f)
}

// callOnce calls the function of Once here, and returns its encoded result.
func (h *sharing) callOnce(f func() ([]byte, error)) ([]byte, error) {
	if err := h.leased(h.runCtx); err != nil {
		return nil, err
	}
	here := func(is bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.once.here = is
	}
	here(true)
	defer here(false)
	return encodeOnce(h.workers[0].inside.runOnce(f)), nil
}

// runOnce executes the protocol for the next call of Once.
func (h *sharing) runOnce(f func() ([]byte, error)) ([]byte, error) {
	h.mu.Lock()
	h.once.wanted = false
	h.performOnce(h.once.Enter())
	for {
		seen := h.changes.Load()
		if result, ok := h.once.Done(); ok {
			if h.once.Leave(); h.once.kept != nil {
				*h.once.kept = append(*h.once.kept, bytes.Clone(result))
			}
			h.mu.Unlock()
			return decodeOnce(result)
		}
		if h.err != nil { // the other replicas may never reach this call
			defer h.mu.Unlock()
			return nil, diverged(h.err)
		}
		run := h.once.wanted
		h.once.wanted = false
		number := h.once.Number()
		h.mu.Unlock()
		if run {
			result, err := h.callOnce(f)
			if err != nil {
				return nil, err
			}
			h.mu.Lock()
			h.performOnce(h.once.Result(h.setup.Self.Replica, number, result))
			continue
		}
		if err := h.ended(h.poller.Wait(h.runCtx, func() bool { return h.changedSince(seen) })); err != nil {
			return nil, err
		}
		h.mu.Lock()
	}
}

// performOnce carries out the actions of the protocol of Once. The caller holds the
// lock.
func (h *sharing) performOnce(acts []section.OnceAction) {
	for _, a := range acts {
		m := update.Message{Section: a.Number, Deaths: a.Deaths}
		switch a.Kind {
		case section.OnceRun:
			h.once.wanted = true
		case section.OnceSend:
			m.Kind = update.KindOnceResult
			h.notify(a.Peer, m, a.Result)
		case section.OnceSayHave:
			m.Kind = update.KindOnceHave
			h.notify(a.Peer, m)
		case section.OnceAsk:
			m.Kind = update.KindOnceQuery
			h.notify(a.Peer, m)
		case section.OnceSayNone:
			m.Kind = update.KindOnceNone
			h.notify(a.Peer, m)
		}
	}
}

// The encoded result of a Once begins with one of these bytes: the rest is the result, or
// the text of an error.
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
