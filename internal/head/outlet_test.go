package head

import (
	"encoding/json"

	"github.com/intrahpc/intra/internal/job"
)

// outlet is the output of a process as the driver sees it. It checks the order
// of the lines.
type outlet struct {
	process   job.Process
	role      Role
	muted     bool
	next      int // the number of the next line
	finishing bool
	settled   bool
}

func newOutlet(p job.Process, r Role, lines int) *outlet {
	return &outlet{process: p, role: r, muted: r != First, next: lines}
}

// take handles a line.
func (o *outlet) take(w *world, p *proc, line int) {
	if o.muted {
		return
	}
	if line != o.next {
		w.failf("%v writes line %d instead of %d", p, line, o.next)
	}
	o.next++
}

func (o *outlet) resume(w *world, a Resume) {
	if !o.muted {
		w.failf("the output of %+v continues without having stopped", a)
	}
	if err := json.Unmarshal(a.Position, &o.next); err != nil {
		w.failf("the output of %+v continues at no known position: %v", a, err)
	}
	o.muted = false
}

func (o *outlet) position() Position { return encode(o.next) }
