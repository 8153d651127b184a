package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// landlord is a head whose host has no lease until the test grants one.
type landlord struct {
	setUp
	asked    chan struct{}
	leases   chan struct{} // one for each effect on the outside world
	finished bool
}

func newLandlord(replicas int) *landlord {
	return &landlord{setUp: setUp{setup: job.Setup{Degrees: []int{replicas}}}, asked: make(chan struct{}), leases: make(chan struct{})}
}

func (l *landlord) Leased(ctx context.Context) error {
	l.asked <- struct{}{}
	select {
	case <-l.leases:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *landlord) Stats(func() job.Stats) {}
func (l *landlord) Tell(func() job.Stats)  {}

func (l *landlord) Finish(job.Stats) error {
	l.finished = true
	return errors.New("that is all")
}

// No effect reaches the outside world while the host has no lease. If the job ends first,
// the effect never happens.
func TestEffectsWaitForTheLease(t *testing.T) {
	for name, effect := range map[string]func(e *Engine, done func()) error{
		"Once of a rank alone": func(e *Engine, done func()) error {
			_, err := e.Once(func() ([]byte, error) { done(); return nil, nil })
			return err
		},
		"Once of a replica": func(e *Engine, done func()) error {
			e.once.Dead(1)
			_, err := e.Once(func() ([]byte, error) { done(); return nil, nil })
			return err
		},
		"the report that it has finished": func(e *Engine, done func()) error {
			err := e.Live(func(*Program) error { return nil }, nil)
			if h := e.head.(*landlord); h.finished {
				done()
				return nil
			}
			return err
		},
	} {
		for _, lost := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				h := newLandlord(1)
				if name == "Once of a replica" {
					h = newLandlord(2)
				}
				e := New(ctx, Config{Head: h})
				require.NoError(t, e.Begin())
				var done bool
				ended := make(chan error, 1)
				go func() { ended <- effect(e, func() { done = true }) }()
				select {
				case <-h.asked:
				case err := <-ended:
					require.Fail(t, "the head was not asked", "done: %v, %v", done, err)
				}
				if lost {
					cancel(errors.New("declared dead"))
					require.ErrorContains(t, <-ended, "declared dead")
					require.False(t, done)
					return
				}
				h.leases <- struct{}{}
				require.NoError(t, <-ended)
				require.True(t, done)
			})
		}
	}
}
