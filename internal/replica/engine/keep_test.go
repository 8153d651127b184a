package engine_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/keeptest"
	"github.com/intrahpc/intra/internal/testkit/simseed"
	"github.com/intrahpc/intra/intratest"
)

// TestKeptResults runs random programs whose results stay where they were computed, with
// deaths. Each replica overwrites what it lacks. The results are those of a run without
// replicas.
func TestKeptResults(t *testing.T) {
	programs := 40
	if testing.Short() {
		programs = 10
	}
	deaths, again, images := 0, 0, int64(0)
	first, n := simseed.Range(t, uint64(programs))
	for seed := first; seed < first+n; seed++ {
		rng := rand.New(rand.NewPCG(seed, 8))
		ranks := 1 + rng.IntN(3)
		run := func(spec intra.Spec, opts ...intratest.Option) (results []uint64) {
			var mu sync.Mutex
			begun := 0
			report := intratest.Run(t, spec, func(p *intra.Process) error {
				mu.Lock()
				begun++
				mu.Unlock()
				h, err := keeptest.Program{Seed: seed, Passes: 12, Out: io.Discard}.Run(p)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					results = append(results, h)
				}
				return err
			}, opts...)
			deaths += len(report.Deaths)
			if spec.Degrees != nil {
				for _, d := range spec.Degrees {
					begun -= d
				}
				again += begun
			}
			images += report.Images
			return results
		}
		want := run(intra.Spec{Ranks: ranks})
		degrees := make([]int, ranks)
		for i := range degrees {
			degrees[i] = 1 + rng.IntN(3)
		}
		victim := rng.IntN(ranks)
		degrees[victim] = 2
		point := []string{"section", "task", "update", "message"}[rng.IntN(4)]
		kill := fmt.Sprintf("%d.%d@%s:%d", victim, rng.IntN(2), point, rng.IntN(60))
		lag := []time.Duration{time.Microsecond, time.Millisecond, time.Minute}[rng.IntN(3)]
		threads := 1 + rng.IntN(3)
		what := fmt.Sprintf("seed %d, degrees %v, lag %v, %d threads, kill %s", seed, degrees, lag, threads, kill)
		got := run(intra.Spec{Degrees: degrees}, intratest.MayKill(kill), intratest.Lag(lag), intratest.Threads(threads), intratest.Capacity(64+rng.IntN(5000)))
		require.NotEmpty(t, got, what)
		for _, h := range got {
			require.Equal(t, want[0], h, what)
		}
	}
	t.Logf("%d programs: %d deaths, %d second runs, %d images", n, deaths, again, images)
	if n >= 40 {
		require.Greater(t, deaths, int(n)/3, "too few kill points were reached")
		require.Greater(t, again, int(n)/5, "too few second runs")
	}
}

// TestForgottenFetchShows requires that a program which reads an array without Fetch computes
// something else, since each replica overwrites what it lacks.
func TestForgottenFetchShows(t *testing.T) {
	results := func(spec intra.Spec, opts ...intratest.Option) (all []uint64) {
		var mu sync.Mutex
		_ = intratest.Run(t, spec, func(p *intra.Process) error {
			h, err := keeptest.Program{Seed: 3, Passes: 12, Out: io.Discard, Unfetched: true}.Run(p)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, h)
			return err
		}, append(opts, intratest.Fails())...)
		return all
	}
	want := results(intra.Spec{Ranks: 1})
	require.NotEqual(t, want[0], results(intra.Spec{Replicas: 2}, intratest.Lag(time.Second))[0])
}

// TestFetchInOtherGoroutine requires an error that names the cure.
func TestFetchInOtherGoroutine(t *testing.T) {
	report := intratest.Run(t, intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		x := make([]float64, 64)
		intra.Protect(p, "x", &x)
		if err := p.SafePoint(); err != nil {
			return err
		}
		s := p.Section(intra.Keep)
		for lo, hi := range intra.Blocks(len(x), 4) {
			s.Launch(taskRandom, func() { x[lo] = 1 }, intra.Out("x", x[lo:hi]))
		}
		if err := s.End(); err != nil {
			return err
		}
		failed := make(chan error)
		go func() { failed <- intra.Fetch(p, x) }()
		err := <-failed
		if err == nil || !strings.Contains(err.Error(), "call intra.Fetch in run before") {
			return fmt.Errorf("Fetch in another goroutine: %w", errors.Join(err, errors.New("want an error")))
		}
		return nil
	}, intratest.Lag(time.Second))
	require.Empty(t, report.Deaths)
}
