package comm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/transport/sdr"
)

// restored takes a cut of a job with one rank, and starts a process at that cut. It returns
// the world of the process.
func restored(t *testing.T, before func(world *comm.Comm)) (*comm.Comm, *sdr.Engine) {
	cfg := sdr.Config{Degrees: []int{1}}
	e := sdr.NewEngine(cfg)
	w, err := comm.World(e)
	require.NoError(t, err)
	before(w)
	require.NoError(t, e.Drain(t.Context(), 1))
	pos, err := e.Position()
	require.NoError(t, err)
	again, err := sdr.NewEngineAt(cfg, pos)
	require.NoError(t, err)
	world, err := comm.World(again)
	require.NoError(t, err)
	require.NoError(t, again.Cut())
	return world, again
}

// TestRestored: constructors return the communicators that were in use at the safe point,
// with their messages. Other communication fails before the first safe point.
func TestRestored(t *testing.T) {
	world, e := restored(t, func(w *comm.Comm) {
		gone, err := w.Dup()
		require.NoError(t, err)
		require.NoError(t, gone.Free())
		kept, err := w.Dup()
		require.NoError(t, err)
		_, err = w.Split(comm.Undefined, 0)
		require.NoError(t, err)
		sub, err := kept.Split(0, 0)
		require.NoError(t, err)
		require.NoError(t, kept.Free()) // sub, which is derived from it, stays usable
		require.NoError(t, comm.Send(sub, []int{7}, 0, 3))
		require.NoError(t, comm.Send(w, []int{8}, 0, 3))
	})
	for name, call := range map[string]func() error{
		"send":      func() error { return comm.Send(world, []int{1}, 0, 0) },
		"receive":   func() error { _, err := comm.Recv(world, []int{1}, 0, 3); return err },
		"begin":     func() error { _, err := comm.Irecv(world, []int{1}, 0, 3).Wait(); return err },
		"probe":     func() error { _, err := world.Probe(0, 3); return err },
		"poll":      func() error { _, _, err := world.Iprobe(0, 3); return err },
		"barrier":   world.Barrier,
		"broadcast": func() error { return comm.Bcast(world, []int{1}, 0) },
		"free":      world.Free,
	} {
		err := call()
		require.ErrorIs(t, err, comm.ErrRestored, name)
		require.ErrorContains(t, err, "communication before the first safe point of a restored process: ", name)
	}
	prepared := comm.SendInit(world, []int{9}, 0, 4) // preparing a request does not communicate
	none, err := world.Split(comm.Undefined, 0)
	require.NoError(t, err)
	require.Nil(t, none)
	kept, err := world.Dup()
	require.NoError(t, err)
	sub, err := kept.Split(0, 0)
	require.NoError(t, err)
	require.NoError(t, kept.Free(), "the message from before the safe point")
	_, err = world.Dup()
	require.ErrorIs(t, err, comm.ErrRestored)
	require.ErrorContains(t, err, "1 communicators that were made in this way were in use at the safe point")

	e.Resume()
	buf := make([]int, 1)
	_, err = comm.Recv(sub, buf, 0, 3)
	require.NoError(t, err)
	require.Equal(t, 7, buf[0])
	_, err = comm.Recv(world, buf, 0, 3)
	require.NoError(t, err)
	require.Equal(t, 8, buf[0])
	require.ErrorIs(t, kept.Barrier(), comm.ErrFreed)
	prepared.Start()
	_, err = prepared.Wait()
	require.NoError(t, err)
	more, err := world.Dup()
	require.NoError(t, err, "the new communicator has a new context")
	require.NoError(t, more.Barrier())
}

// TestPendingRequests: Pending reports operations that were begun and not waited for,
// whether or not they are complete.
func TestPendingRequests(t *testing.T) {
	e := sdr.NewEngine(sdr.Config{Degrees: []int{1}})
	w, err := comm.World(e)
	require.NoError(t, err)
	require.NoError(t, e.Pending())
	for name, begin := range map[string]func() *comm.Request{
		"receive": func() *comm.Request {
			require.NoError(t, comm.Send(w, []int{1}, 0, 0))
			return comm.Irecv(w, []int{0}, 0, 0)
		},
		"synchronous send": func() *comm.Request {
			r := comm.Issend(w, []int{1}, 0, 0)
			_, err := comm.Recv(w, []int{0}, 0, 0)
			require.NoError(t, err)
			return r
		},
		"collective": w.Ibarrier,
	} {
		r := begin()
		require.ErrorIs(t, e.Pending(), comm.ErrPending, name)
		require.ErrorIs(t, e.Drain(t.Context(), 1), comm.ErrPending, name)
		_, err := r.Wait()
		require.NoError(t, err)
		require.NoError(t, e.Pending(), name)
	}
	send := comm.Isend(w, []int{1}, 0, 0)
	require.NoError(t, e.Pending(), "an ordinary send may be pending")
	require.NoError(t, e.Drain(t.Context(), 1))
	require.NoError(t, e.Cut())
	_, err = send.Wait()
	require.NoError(t, err)
}

var errBack = errors.New("back")

// TestAbortedRequests: after a rollback a request that was complete but not reported
// returns the error, too. A replica that lags behind may have received its message too
// early.
func TestAbortedRequests(t *testing.T) {
	wait := func(r *comm.Request) error { _, err := r.Wait(); return err }
	reports := map[string]func(r *comm.Request) error{
		"Wait":    wait,
		"WaitAll": func(r *comm.Request) error { return comm.WaitAll(r) },
		"WaitAny": func(r *comm.Request) error { _, _, err := comm.WaitAny(r); return err },
		"WaitSome": func(r *comm.Request) error {
			_, err := comm.WaitSome(r)
			return err
		},
		"Test":     func(r *comm.Request) error { _, _, err := r.Test(); return err },
		"TestAll":  func(r *comm.Request) error { _, err := comm.TestAll(r); return err },
		"TestAny":  func(r *comm.Request) error { _, _, err := comm.TestAny(r); return err },
		"TestSome": func(r *comm.Request) error { _, err := comm.TestSome(r); return err },
	}
	begins := map[string]func(w *comm.Comm) *comm.Request{
		"send":              func(w *comm.Comm) *comm.Request { return comm.Isend(w, []int{1}, 0, 1) },
		"receive":           func(w *comm.Comm) *comm.Request { return comm.Irecv(w, []int{0}, 0, 0) },
		"collective":        (*comm.Comm).Ibarrier,
		"receive, too long": func(w *comm.Comm) *comm.Request { return comm.Irecv(w, []int{}, 0, 0) },
	}
	for what, begin := range begins {
		for how, report := range reports {
			t.Run(what+"/"+how, func(t *testing.T) {
				e := sdr.NewEngine(sdr.Config{Degrees: []int{1}})
				w, err := comm.World(e)
				require.NoError(t, err)
				require.NoError(t, comm.Send(w, []int{1}, 0, 0))
				r := begin(w)
				e.Abort(errBack)
				require.ErrorIs(t, report(r), errBack)
				require.ErrorIs(t, wait(r), errBack, "and once more")
				st, _ := r.Wait()
				require.Zero(t, st)
			})
		}
	}
}

// TestAbort: calls that are blocked over real links return the error of Abort, and so do
// all later calls. After Abort no link holds memory of the program.
func TestAbort(t *testing.T) {
	for _, kind := range []string{"inproc", "tcp", "shm"} {
		t.Run(kind, func(t *testing.T) {
			c := newCluster(t, kind, []int{1, 2}, false, sdr.Limits{Eager: 64})
			worlds := make([]*comm.Comm, len(c.members))
			for i, m := range c.members {
				var err error
				worlds[i], err = comm.World(m.engine)
				require.NoError(t, err)
			}
			large := make([]byte, 8<<20)
			calls := []func(w *comm.Comm) error{
				func(w *comm.Comm) error { _, err := comm.Recv(w, large, 1, 5); return err },
				func(w *comm.Comm) error { return comm.Send(w, make([]byte, 1<<20), 0, 6) },
				func(w *comm.Comm) error {
					for r := comm.Irecv(w, make([]byte, 1), 0, 7); ; {
						if _, done, err := r.Test(); done {
							return err
						}
					}
				},
			}
			errs := make(chan error, len(calls))
			for i, call := range calls {
				go func() { errs <- call(worlds[i]) }()
			}
			time.Sleep(10 * time.Millisecond) // most calls are blocked by now; if not, the result is the same
			for _, m := range c.members {
				m.engine.Abort(errBack)
			}
			for range calls {
				require.ErrorIs(t, <-errs, errBack)
			}
			for i, m := range c.members {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				require.NoError(t, m.engine.Released(ctx))
				cancel()
				require.ErrorIs(t, worlds[i].Barrier(), errBack)
				require.ErrorIs(t, m.engine.Drain(t.Context(), 1), errBack)
				_, _, err := worlds[i].Iprobe(0, 0)
				require.ErrorIs(t, err, errBack)
			}
			for _, m := range c.members {
				for _, l := range m.links {
					require.NoError(t, l.Close())
				}
			}
		})
	}
}
