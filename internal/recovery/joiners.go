package recovery

import (
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// endpoint returns the identity of the process.
func (s *replica) endpoint() job.Endpoint {
	return job.Endpoint{Process: s.process, Incarnation: s.incarnation}
}

// joiners yields all joiners: those for empty slots, and those that relieve a process.
func (rs *replicas) joiners() func(yield func(*replica) bool) {
	return func(yield func(*replica) bool) {
		for _, s := range slices.Concat(rs.slots, rs.reliefs) {
			if (s.status == starting || s.status == arrived) && !yield(s) {
				return
			}
		}
	}
}

// present yields all processes that have links: the live ones, and the joiners that have
// arrived.
func (rs *replicas) present() func(yield func(*replica) bool) {
	return func(yield func(*replica) bool) {
		for _, s := range slices.Concat(rs.slots, rs.reliefs) {
			if s.status >= arrived && !yield(s) {
				return
			}
		}
	}
}

// find returns the process of that incarnation: the one in the slot, or the joiner that
// relieves it. It returns nil if there is none.
func (rs *replicas) find(p job.Process, incarnation uint32) *replica {
	if s := rs.of[p]; s != nil && s.status != empty && s.incarnation == incarnation {
		return s
	}
	return rs.relief(p, incarnation)
}

// relief returns the joiner that relieves the process of a slot, nil if there is none.
// incarnation is that of the joiner, 0 for any.
func (rs *replicas) relief(p job.Process, incarnation uint32) *replica {
	for _, s := range rs.reliefs {
		if s.process == p && (incarnation == 0 || s.incarnation == incarnation) {
			return s
		}
	}
	return nil
}
