package agentlog

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// Host is the log of one agent. S is the type of the observations that the agent sends to the
// head, besides the messages of the process. X is the agent's own data about a process. The
// zero Host is the log of an agent without processes.
type Host[S, X any] struct {
	latest map[job.Process]*Process[S, X] // by ID
	links  map[[2]Name]bool               // lower and higher end
}

// Start returns the log of a process that the agent has to start now. It returns nil if an earlier
// head has already ordered that start. voiced means that the process's output counts from its
// start.
func (h *Host[S, X]) Start(of Name, voiced bool) *Process[S, X] {
	if before := h.latest[of.ID]; before != nil && before.Incarnation >= of.Incarnation {
		return nil
	}
	if h.latest == nil {
		h.latest = make(map[job.Process]*Process[S, X])
	}
	p := &Process[S, X]{State: State{ID: of.ID, Incarnation: of.Incarnation, Voiced: voiced}}
	h.latest[of.ID] = p
	return p
}

// Link reports whether the agent has to make a link between two processes now. It returns
// false if an earlier head has already ordered that link.
func (h *Host[S, X]) Link(lower, higher Name) bool {
	of := [2]Name{lower, higher}
	if h.links[of] {
		return false
	}
	if h.links == nil {
		h.links = make(map[[2]Name]bool)
	}
	h.links[of] = true
	return true
}

// Latest returns the log of the last process that was started with that ID. It returns nil if
// there was none.
func (h *Host[S, X]) Latest(id job.Process) *Process[S, X] { return h.latest[id] }

// Find returns the log of a process. It returns nil if another process was started in its
// place, or if the process never existed. A frame for such a process has no receiver.
func (h *Host[S, X]) Find(of Name) *Process[S, X] {
	if p := h.latest[of.ID]; p != nil && p.Incarnation == of.Incarnation {
		return p
	}
	return nil
}

// All returns the logs of the last process of each ID, in the order of the IDs.
func (h *Host[S, X]) All() []*Process[S, X] {
	return slices.SortedFunc(maps.Values(h.latest), func(a, b *Process[S, X]) int { return a.ID.Compare(b.ID) })
}
