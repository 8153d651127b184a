package head

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// ErrStays marks a process that cannot leave.
var ErrStays = errors.New("it cannot leave")

// MayLeave returns why a node, or a process if node is 0, cannot leave now. It returns nil if
// it can leave. The node of this head can leave only if another one can become the head.
func (h *Head) MayLeave(node detect.ID, p job.Process) error {
	if h.phase != working || !h.hasBegun || h.retired {
		return fmt.Errorf("%w: the job has not begun, or ends", ErrStays)
	}
	for _, m := range h.members.all {
		if (node == 0 && h.members.places[p] == m || node != 0 && m.from.Node == node) && m.role == First && m.state.there() {
			if err := h.leaves.mayLeave(m, node); err != nil {
				return err
			}
		}
	}
	if node == h.config.Self {
		return h.leaves.mayHandOver()
	}
	return nil
}

// MayEnd reports whether the job can end with a last set of files instead of leaving a host.
func (h *Head) MayEnd() bool {
	return h.config.Checkpoint != nil && h.phase == working && h.hasBegun && h.recovery.decides != nil && !h.retired
}

// Leads reports whether this head runs in the agent of the given node.
func (h *Head) Leads(node detect.ID) bool { return node == h.config.Self }

// Hosts returns the hosts that processes may run on.
func (h *Head) Hosts() []Node { return h.config.Nodes }

// Lives returns the incarnation of the process in a slot; ok is false if it does not live.
func (h *Head) Lives(p job.Process) (incarnation uint32, ok bool) {
	m := h.members.places[p]
	if m == nil || m.role != First || !m.state.there() {
		return 0, false
	}
	return m.incarnation, true
}
