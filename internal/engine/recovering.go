package engine

import (
	"context"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// recovering is how a process comes back after a loss, and what it does for
// others that do: safe points, states on their way, backups, files. The lock of
// the node is that of all below.
type recovering struct {
	*node
	sharing *sharing
	bury    func(p job.Process, incarnation uint32) // what is done when a process has died

	member    *recovery.Member
	program   *Program          // nil before the program runs, and after it has to go back
	image     *checkpoint.Image // that the next run of the program begins with
	startAt   *rankPosition     // where the last one began; nil: at the beginning of the job
	outbound  map[job.Process]*outbound
	stopDrain context.CancelFunc
	cutAt     *rankPosition // of the cut in which joiners were admitted
	slots     recovery.Slots[stateCopy]
	streams   uint32 // states sent so far
	back      recovery.Return[stateCopy]

	writer *checkpoint.Writer // of files; nil before the first one
	saving atomic.Int64       // files that are being written
}

func newRecovering(n *node, h *sharing, bury func(job.Process, uint32)) *recovering {
	return &recovering{node: n, sharing: h, bury: bury,
		member: recovery.NewMember(n.setup.Self, 0, n.setup.Next), outbound: make(map[job.Process]*outbound)}
}

// dead takes out a process that has died.
func (r *recovering) dead(p job.Process) {
	r.member.Died(p)
	delete(r.outbound, p)
}
