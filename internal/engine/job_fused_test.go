package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
	intraruntime "github.com/intrahpc/intra/runtime"
)

var taskFused = intra.Register("engine_test.fused")

// fusedProgram runs sections whose tasks can store their result twice, and
// counts which body runs.
func fusedProgram(p *intra.Process, n, sections int, plain, fused *atomic.Int64) ([]float64, error) {
	x, w := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	for k := range sections {
		s := p.Section()
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			x, w, a := x[lo:hi], w[lo:hi], float64(k)
			body := func(second []float64) {
				for i := range w {
					w[i] = float64(a*x[i]) + w[i] // it reads what it writes
					if second != nil {
						second[i] = w[i]
					}
				}
			}
			s.Launch(taskFused,
				func() { plain.Add(1); body(nil) },
				intra.In("x", x), intra.In("old", w),
				intraruntime.OutFused("w", w, func(second []float64) { fused.Add(1); body(second) }))
		}
		if err := s.End(); err != nil {
			return nil, err
		}
		x, w = w, x
	}
	return append(x, w...), nil
}

func TestFusedStores(t *testing.T) {
	const n, sections = 16 << 10, 6 // updates of 8 KiB
	var plain, fused atomic.Int64
	want, err := fusedProgram(nil, n, sections, &plain, &fused)
	require.NoError(t, err)
	require.Zero(t, fused.Load(), "there is nowhere to store it twice")
	for _, link := range []string{"shm", "unix"} {
		for replicas := 2; replicas <= 3; replicas++ {
			plain.Store(0)
			fused.Store(0)
			intratest.Run(t, intra.Spec{Replicas: replicas, Link: link}, func(p *intra.Process) error {
				got, err := fusedProgram(p, n, sections, &plain, &fused)
				require.Equal(t, want, got)
				return err
			}, intratest.Sched("static"))
			require.EqualValues(t, sections*16, plain.Load()+fused.Load())
			if link == "shm" {
				require.Positive(t, fused.Load())
			} else {
				require.Zero(t, fused.Load())
			}
		}
	}
}

// A replica that dies in a body that stores into the ring, or in the middle of
// the update, leaves nothing of it to be seen.
func TestFusedStoresOfTheDead(t *testing.T) {
	const n, sections = 16 << 10, 4
	var plain, fused atomic.Int64
	want, err := fusedProgram(nil, n, sections, &plain, &fused)
	require.NoError(t, err)
	for _, capacity := range []int{0, 64 << 10} { // rings with room for all, or a few updates
		for _, replicas := range []int{2, 3} {
			for i := range 8 {
				for _, point := range []string{"task", "update"} {
					kill := fmt.Sprintf("0.%d@%s:%d", i%replicas, point, i*3/2)
					finished := atomic.Int64{}
					intratest.Run(t, intra.Spec{Replicas: replicas, Link: "shm"}, func(p *intra.Process) error {
						got, err := fusedProgram(p, n, sections, &plain, &fused)
						if err == nil {
							require.Equal(t, want, got, kill)
							finished.Add(1)
						}
						return err
					}, intratest.Kills(kill), intratest.Sched("static"), intratest.Capacity(capacity))
					require.GreaterOrEqual(t, finished.Load(), int64(replicas-1), kill)
				}
			}
		}
	}
}

// The replica that fails last may run the plain body: nobody is left to send to.
func TestFusedBodyThatPanics(t *testing.T) {
	var fused atomic.Int64
	r := intratest.Run(t, intra.Spec{Replicas: 2, Link: "shm"}, func(p *intra.Process) error {
		s := p.Section()
		for range 4 {
			w := make([]float64, 1024)
			s.Launch(taskFused, func() { panic("out of plasma") },
				intraruntime.OutFused("w", w, func([]float64) { fused.Add(1); panic("out of plasma") }))
		}
		return s.End()
	}, intratest.Fails())
	require.Positive(t, fused.Load())
	require.ErrorContains(t, r.Err, "out of plasma")
	var tp *intra.TaskPanic
	require.ErrorAs(t, r.Err, &tp)
}

func TestCheckedModeRunsFusedBodies(t *testing.T) {
	for want, fused := range map[string]func(w, second []float64){
		"": func(w, second []float64) {
			for i := range w {
				w[i], second[i] = 3, 3
			}
		},
		"writes something else than the body of the task": func(w, second []float64) {
			for i := range w {
				w[i], second[i] = 4, 4
			}
		},
		"stores something else to its second place": func(w, second []float64) {
			for i := range w {
				w[i] = 3
			}
			second[0] = 3
		},
		"panics: out of plasma": func(w, second []float64) { panic("out of plasma") },
	} {
		findings, err := intratest.Findings(func(s *intra.Section) {
			w := make([]float64, 8)
			s.Launch(taskFused, func() {
				for i := range w {
					w[i] = 3
				}
			}, intraruntime.OutFused("w", w, func(second []float64) { fused(w, second) }))
		})
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, findings)
			continue
		}
		require.Len(t, findings, 1)
		require.Contains(t, findings[0].Text, want)
		require.Equal(t, "out(w)", findings[0].Argument)
	}
}
