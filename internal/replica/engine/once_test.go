package engine

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestOnceOfReplicas(t *testing.T) {
	g := newGroup(t, 3)
	var calls atomic.Int64
	results := make([][]byte, 3)
	g.run(func(_ *replica, p *Program) error {
		for k := range 20 {
			b, err := p.Engine().Once(func() ([]byte, error) {
				if k == 7 {
					return nil, errors.New("no such file")
				}
				return fmt.Appendf(nil, "%d ", calls.Add(1)), nil
			})
			if k == 7 {
				if err == nil || err.Error() != "no such file" {
					return fmt.Errorf("got %v", err)
				}
				continue
			}
			if err != nil {
				return err
			}
			results[p.Self.Replica] = append(results[p.Self.Replica], b...)
		}
		return nil
	})
	for i, r := range g.replicas {
		require.NoError(t, r.err)
		require.True(t, bytes.Equal(results[0], results[i]))
	}
	require.EqualValues(t, 19, calls.Load())
}

// If no live replica has the result, the function runs again.
func TestOnceOfAReplicaThatDies(t *testing.T) {
	g := newGroup(t, 2)
	var calls atomic.Int64
	g.run(func(r *replica, p *Program) error {
		b, err := p.Engine().Once(func() ([]byte, error) {
			if calls.Add(1) == 1 {
				r.die(job.Kill{Process: r.setup.Self, Point: job.KillTask})
			}
			return []byte("now"), nil
		})
		if err == nil && string(b) != "now" {
			err = fmt.Errorf("got %q", b)
		}
		return err
	})
	require.EqualValues(t, 2, calls.Load())
	require.Len(t, g.survivors(), 1)
	require.NoError(t, g.survivors()[0].err)
}

// The end of the job ends all waits of a replica.
func TestEndWhileReplicasWait(t *testing.T) {
	g := newGroup(t, 2)
	ended, left := errors.New("no more"), make(chan struct{})
	g.run(func(r *replica, p *Program) error {
		if p.Self.Replica == 0 { // replica 0 would make the call
			<-left
			return nil
		}
		defer close(left)
		time.AfterFunc(time.Millisecond, func() { r.cancel(ended) })
		_, err := p.Engine().Once(func() ([]byte, error) { return nil, errors.New("made by another one") })
		return err
	})
	require.ErrorIs(t, g.replicas[1].err, ended)
}
