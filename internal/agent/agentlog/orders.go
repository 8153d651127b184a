package agentlog

import (
	"cmp"

	"github.com/intrahpc/intra/internal/job"
)

// orders records which orders about recovery a process has received. Repeating an order that
// is not listed here does no harm.
type orders struct {
	left     job.Order // the last OrderGo: the consistent cut that the process left
	resumed  uint32    // generation of the last OrderResume
	complete uint64    // number of the last complete backup
}

// pass reports whether the process has to receive an order. It records the order.
func (h *orders) pass(o job.Order) bool {
	switch o.Kind {
	case job.OrderGo:
		if cmp.Or(cmp.Compare(o.Generation, h.left.Generation), cmp.Compare(o.Number, h.left.Number)) <= 0 {
			return false
		}
		h.left = o
	case job.OrderResume:
		if o.Generation <= h.resumed {
			return false
		}
		h.resumed = o.Generation
	case job.OrderComplete:
		if o.Number <= h.complete {
			return false
		}
		h.complete = o.Number
	case job.OrderRollback:
		h.complete = o.Number // after a rollback, this may be an older backup
	}
	return true
}
