package launch

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/head"
)

// pause handles Ctrl-Z: it stops the processes of the job and then this one, until this one is
// continued. The head's clock does not count that time, so deadlines move. On several hosts
// Ctrl-Z is ignored.
func (d *driver) pause() {
	if d.here == nil {
		if !d.saidIgnored {
			d.saidIgnored = true
			d.warnf("Ctrl-Z is ignored: the agents of the other hosts would take a stopped intrarun for a lost one")
		}
		return
	}
	from := time.Now()
	d.here.SignalAll(syscall.SIGSTOP)
	d.suspend()
	d.paused += time.Since(from)
	d.here.SignalAll(syscall.SIGCONT)
	d.step(head.Continued{})
}
