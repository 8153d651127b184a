package launch

import (
	"syscall"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/supervise"
)

// agent is what the head asks of the one that starts, watches and ends the
// processes of a host: a supervise.Agent here, or a remote, which commands one
// there. Except for Feed its methods do not block for long; what it sees it tells
// a supervise.Observer.
type agent interface {
	// Start starts a process; Observer.Started says how that went.
	Start(p job.Process, r supervise.Role)
	// Send hands a message to a process, if there still is one.
	Send(p job.Process, m *job.Message)
	// Link gives two processes of this host the two ends of a link.
	Link(l supervise.HostLink)
	// Signal sends a signal to the process and all that it has started.
	Signal(p job.Process, s syscall.Signal)
	// Feed gives p standard input, nothing at its end. It blocks until there is
	// room for it.
	Feed(p job.Process, b []byte)
	// Quiet has Observer.Quiet called with n once all that p has written so far
	// was taken. A process that is gone is never quiet.
	Quiet(p job.Process, n uint64)
	// Doubtful reports whether the host may be about to be declared lost.
	Doubtful() bool
}
