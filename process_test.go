package intra_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/intratest"
)

func TestBlocks(t *testing.T) {
	type block struct{ lo, hi int }
	tests := []struct {
		n, parts int
		want     []block
	}{
		{10, 3, []block{{0, 4}, {4, 7}, {7, 10}}},
		{2, 16, []block{{0, 1}, {1, 2}}},
		{0, 4, nil},
		{-1, 4, nil},
		{5, 1, []block{{0, 5}}},
	}
	for _, tt := range tests {
		var got []block
		for lo, hi := range intra.Blocks(tt.n, tt.parts) {
			got = append(got, block{lo, hi})
		}
		require.Equal(t, tt.want, got, "%d in %d", tt.n, tt.parts)
	}
	for lo := range intra.Blocks(10, 5) {
		if lo > 3 {
			break // a loop may end early
		}
	}
	require.PanicsWithError(t, "intra.Blocks: 0 parts, want at least 1", func() { intra.Blocks(4, 0) })
}

func TestNilProcessIsARankAlone(t *testing.T) {
	var p *intra.Process
	require.Equal(t, []int{0, 1, 0, 16}, []int{p.Rank(), p.Size(), p.Replica(), p.Tasks()})
	require.NoError(t, p.Context().Err())
	require.Equal(t, 1, p.World().Size())
	sum, err := comm.AllreduceValue(p.World(), 3, comm.Sum)
	require.NoError(t, err)
	require.Equal(t, 3, sum)
	v, err := intra.Once(p, func() (int, error) { return 5, nil })
	require.NoError(t, err)
	require.Equal(t, 5, v)
	s := p.Section()
	ran := false
	s.Launch(taskBad, func() { ran = true })
	require.True(t, ran, "tasks run at once")
	require.NoError(t, s.End())
}

func TestRegisterTwicePanics(t *testing.T) {
	require.PanicsWithValue(t, `intra.Register: task "test.waxpby" is registered twice`,
		func() { intra.Register("test.waxpby") })
}

// Every replica gets the result of one run of the function, also if replicas that run it
// die.
func TestOnce(t *testing.T) {
	for _, kills := range [][]string{nil, {"0.0@section:2"}, {"0.0@section:1", "0.1@section:3"}} {
		t.Run(fmt.Sprint(kills), func(t *testing.T) {
			var clock atomic.Int64
			var results [5]atomic.Int64
			intratest.Run(t, intra.Spec{Replicas: 3}, func(p *intra.Process) error {
				for i := range results {
					v, err := intra.Once(p, func() (int64, error) { return clock.Add(1), nil })
					if err != nil {
						return err
					}
					if !results[i].CompareAndSwap(0, v) && results[i].Load() != v {
						return fmt.Errorf("call %d gave %d and %d", i, v, results[i].Load())
					}
					if err := p.Section().End(); err != nil { // reaches a kill point
						return err
					}
				}
				return nil
			}, intratest.Kills(kills...))
		})
	}
}

func TestOnceErrors(t *testing.T) {
	intratest.Run(t, intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		_, err := intra.Once(p, func() (int, error) { return 0, errors.New("no such file") })
		require.EqualError(t, err, "no such file", "the same error on both replicas")
		_, err = intra.Once(p, func() (string, error) { return "x", nil })
		require.ErrorContains(t, err, "holds pointers")
		b, err := intra.OnceBytes(p, func() ([]byte, error) { return []byte("any length"), nil })
		require.NoError(t, err)
		require.Equal(t, "any length", string(b))
		s := p.Section()
		_, err = intra.OnceBytes(p, func() ([]byte, error) { return nil, nil })
		require.ErrorContains(t, err, "in the section opened at intra/process_test.go:")
		return s.End()
	})
}

func TestRunRefusesNonsense(t *testing.T) {
	run := func(*intra.Process) error { return nil }
	for want, spec := range map[string]intra.Spec{
		"invalid job: rank 1 has degree 0, want 1 to 64":                                                    {Degrees: []int{2, 0}},
		"invalid job: both degrees and a number of replicas are given":                                      {Degrees: []int{2}, Replicas: 2},
		"invalid job: 1 degrees for 2 ranks":                                                                {Degrees: []int{2}, Ranks: 2},
		"invalid job: -1 ranks with 0 replicas each, want at least 1 of both":                               {Ranks: -1},
		`intra.Run: link 0.0 and 0.1: unknown kind of link "carrier pigeon": want inproc, shm, unix or tcp`: {Replicas: 2, Link: "carrier pigeon"},
	} {
		require.EqualError(t, intra.Run(context.Background(), spec, run), want)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the operator has cancelled the job")
	err := intra.Run(ctx, intra.Spec{Ranks: 2}, func(p *intra.Process) error {
		if p.Rank() == 0 {
			cancel(why)
		}
		_, err := comm.Recv(p.World(), make([]byte, 1), 1-p.Rank(), 0) // the message is never sent
		require.ErrorIs(t, err, intra.ErrJobEnded)
		return err
	})
	require.ErrorIs(t, err, why)
}

func TestReturningWithAnOpenSection(t *testing.T) {
	r := intratest.Run(t, intra.Spec{}, func(p *intra.Process) error {
		p.Section()
		return nil
	}, intratest.Fails())
	require.ErrorContains(t, r.Err, "the section opened at intra/process_test.go:")
}

func ExampleRun() {
	task := intra.Register("example.square")
	err := intra.Run(context.Background(), intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		squares := make([]int, 8)
		s := p.Section()
		for lo, hi := range intra.Blocks(len(squares), p.Tasks()) {
			part := squares[lo:hi]
			s.Launch(task, func() {
				for i := range part {
					part[i] = (lo + i) * (lo + i)
				}
			}, intra.Out("part", part))
		}
		if err := s.End(); err != nil {
			return err
		}
		if p.Replica() == 0 { // only for the example: programs must not use the number of the replica
			fmt.Println(squares)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// [0 1 4 9 16 25 36 49]
	// <nil>
}
