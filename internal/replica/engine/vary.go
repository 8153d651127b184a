package engine

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/vary"
)

// disturb turns last bits of what a task has written, if that was requested. It is called
// without the lock, after the body.
func (h *sharing) disturb(s *Section, t int) {
	if h.varied != nil {
		h.varied.Ran(s.Number, t, s.regions(t))
	}
}

// FoldOrder returns the order in which the partial results of a section are folded, of any
// number of them, nil if that is the order of its tasks.
func (h *sharing) FoldOrder(s *Section) func(n int) []int {
	if h.varied == nil {
		return nil
	}
	return h.varied.Order(s.Number)
}

// record has the registered variables compared with those of another set of processes,
// and disturbs them at the first safe point.
func (h *sharing) record(point uint64, state *checkpoint.State) error {
	all, err := state.Variables()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	vars := make([]vary.Variable, len(all))
	for i, v := range all {
		vars[i] = vary.Variable(v)
	}
	h.mu.Lock()
	sections := h.machine.Number()
	h.mu.Unlock()
	if err := h.varied.Pass(point, sections, vars); err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	return nil
}
