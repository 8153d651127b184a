package engine

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// sentFrames records what goes over the links of a group.
type sentFrames struct {
	mu  sync.Mutex
	all []string
}

// recorded is a link whose frames are recorded.
type recorded struct {
	transport.Link
	from int
	to   *sentFrames
}

func (l recorded) Send(f *transport.Frame) {
	h := f.Header
	if m, err := update.ParseMessage(&h); err == nil && m.At > 0 {
		h.Args[4] = 0 // the time
	}
	l.to.mu.Lock()
	l.to.all = append(l.to.all, fmt.Sprintf("%d: %+v %x", l.from, h, bytes.Join(f.Payload, nil)))
	l.to.mu.Unlock()
	l.Link.Send(f)
}

// Without -lag, the option Keep changes no byte on a link.
func TestKeepWithoutLagSendsTheSame(t *testing.T) {
	frames := func(keep bool) []string {
		sent := new(sentFrames)
		g := newGroup(t, 2, func(s *job.Setup, c *Config) {
			for p, l := range c.Links {
				c.Links[p] = recorded{l, s.Self.Replica, sent}
			}
		})
		g.run(func(r *replica, p *Program) error {
			x := make([]float64, 400)
			for pass := range 5 {
				if err := p.SafePoint(nil); err != nil {
					return err
				}
				s := &Section{Policy: sched.Static, Keep: keep, Guard: func(_ *Task, body func()) { body() }}
				p.Engine().Opened(s)
				for i := range 4 {
					part := x[100*i : 100*(i+1)]
					s.Tasks = append(s.Tasks, Task{Kernel: kernelScale, Regions: []update.Region{update.Slice(update.InOut, "x", part)},
						Body: func() {
							for k := range part {
								part[k] += float64(pass + k)
							}
						}})
				}
				if err := p.Engine().Share(s); err != nil {
					return err
				}
				p.Engine().Closed(s)
			}
			return p.Engine().Fetch(update.Slice(update.In, "x", x).Mem)
		})
		for _, r := range g.replicas {
			require.NoError(t, r.err)
		}
		slices.Sort(sent.all) // two replicas send at the same time
		return sent.all
	}
	want := frames(false)
	require.Greater(t, len(want), 20)
	require.Equal(t, want, frames(true))
}
