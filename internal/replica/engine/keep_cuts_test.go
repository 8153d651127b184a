package engine_test

import (
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

// keptJob is a job that keeps results and takes consistent cuts.
type keptJob struct {
	keeptest.Program
	degrees []int
	opts    []intratest.Option
	what    string
	loses   bool // it may lose all replicas of a rank before the first backup
}

// newKeptJob returns a random job. Processes die and are replaced. With backups, ranks may lose
// all their replicas.
func newKeptJob(seed uint64) keptJob {
	rng := rand.New(rand.NewPCG(seed, 9))
	j := keptJob{Program: keeptest.Program{Seed: seed, Passes: 15 + rng.IntN(20), Out: io.Discard}}
	ranks, backup, most := 1+rng.IntN(3), uint64(0), 1
	for range ranks {
		j.degrees = append(j.degrees, 2)
	}
	if rng.IntN(2) == 0 {
		backup, most, j.loses = 1+uint64(rng.IntN(7)), 4, true
	} else if rng.IntN(4) == 0 {
		j.degrees[rng.IntN(ranks)] = 3
	}
	var kills []string
	together := most > 1 && rng.IntN(3) > 0
	for range most {
		victim := rng.IntN(ranks)
		if together { // both replicas of a rank die at nearly the same place
			at := 60 + rng.IntN(40*j.Passes/10)
			kills = append(kills, fmt.Sprintf("%d.0@section:%d", victim, at), fmt.Sprintf("%d.1@section:%d", victim, at+rng.IntN(4)))
			break
		}
		point := []string{"section", "section", "task", "update", "message", "join", "backup"}[rng.IntN(7)]
		switch point {
		case "join":
			point += ":" + []string{"ask", "drain", "copy", "state", "admit", "go"}[rng.IntN(6)]
		case "backup":
			point += ":" + []string{"copy", "send", "complete", "abort", "ready", "resume"}[rng.IntN(6)]
		default:
			point += fmt.Sprint(":", rng.IntN(40*j.Passes/10))
		}
		kills = append(kills, fmt.Sprintf("%d.%d@%s", victim, rng.IntN(2), point))
	}
	lag := []time.Duration{time.Microsecond, time.Millisecond, time.Minute}[rng.IntN(3)]
	threads := 1 + rng.IntN(2)
	j.what = fmt.Sprintf("seed %d, degrees %v, lag %v, %d threads, backup %d, kill %v, %d passes", seed, j.degrees, lag, threads, backup, kills, j.Passes)
	j.opts = []intratest.Option{intratest.MayKill(kills...), intratest.Lag(lag), intratest.Threads(threads), intratest.Capacity(64 + rng.IntN(5000)),
		intratest.Replace(), intratest.Backup(backup), intratest.Fails()}
	return j
}

// run returns the results of all processes.
func (j *keptJob) run(t *testing.T, spec intra.Spec, opts ...intratest.Option) ([]uint64, intratest.Report) {
	var mu sync.Mutex
	var results []uint64
	report := intratest.Run(t, spec, func(p *intra.Process) error {
		h, err := j.Run(p)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			results = append(results, h)
		}
		return err
	}, opts...)
	return results, report
}

// TestKeptResultsAndCuts runs random programs whose results stay where they were computed, in
// jobs in which processes die, are replaced, and roll back. The results are those of a run
// without replicas.
func TestKeptResultsAndCuts(t *testing.T) {
	programs := 40
	if testing.Short() {
		programs = 10
	}
	var deaths, joins, rollbacks, lost int
	var images int64
	first, n := simseed.Range(t, uint64(programs))
	for seed := first; seed < first+n; seed++ {
		j := newKeptJob(seed)
		want, _ := j.run(t, intra.Spec{Ranks: len(j.degrees)})
		got, report := j.run(t, intra.Spec{Degrees: j.degrees}, j.opts...)
		deaths, joins, rollbacks, images = deaths+len(report.Deaths), joins+len(report.Replaced), rollbacks+report.Rollbacks, images+report.Images
		if j.loses && report.Err != nil && strings.Contains(report.Err.Error(), "lost") {
			lost++
			continue
		}
		require.NoError(t, report.Err, j.what)
		require.NotEmpty(t, got, j.what)
		for _, h := range got {
			require.Equal(t, want[0], h, j.what)
		}
	}
	t.Logf("%d programs: %d deaths, %d joins, %d rollbacks, %d images, %d jobs lost", n, deaths, joins, rollbacks, images, lost)
	if n >= 40 {
		require.Greater(t, joins, int(n)/3, "too few joins")
		require.Greater(t, rollbacks, int(n)/20, "too few rollbacks")
		require.Less(t, lost, int(n)/5, "too many jobs are lost before their first backup")
	}
}

// TestKeptResultsInACancelledCut runs a program of which one rank has fewer safe points. When it
// ends, the replicas of the other rank may be in a cut, or pass the safe point without it.
func TestKeptResultsInACancelledCut(t *testing.T) {
	const few, many = 2, 8
	first, n := simseed.Range(t, 30)
	for seed := first; seed < first+n; seed++ {
		rng := rand.New(rand.NewPCG(seed, 10))
		pauses := [2][2]time.Duration{}
		for i := range pauses {
			pauses[i] = [2]time.Duration{time.Duration(rng.IntN(2000)) * time.Microsecond, time.Duration(rng.IntN(2000)) * time.Microsecond}
		}
		report := intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
			x := make([]float64, 100)
			pass := int64(0)
			intra.Protect(p, "x", &x)
			intra.Protect(p, "pass", &pass)
			for ; pass < int64([]int{many, few}[p.Rank()]); pass++ {
				time.Sleep(pauses[p.Rank()][p.Replica()])
				if err := p.SafePoint(); err != nil {
					return err
				}
				s := p.Section(intra.Keep)
				for lo, hi := range intra.Blocks(len(x), 4) {
					s.Launch(taskRandom, func() {
						for i := lo; i < hi; i++ {
							x[i] += float64(i)
						}
					}, intra.InOut("x", x[lo:hi]))
				}
				if err := s.End(); err != nil {
					return err
				}
			}
			if err := p.Settle(); err != nil {
				return err
			}
			for i, v := range x {
				if v != float64(pass*int64(i)) {
					return fmt.Errorf("element %d is %v after %d passes", i, v, pass)
				}
			}
			return nil
		}, intratest.Lag(time.Duration(rng.IntN(2))*time.Millisecond+1), intratest.Replace(), intratest.Backup(1))
		require.NoError(t, report.Err, seed)
	}
}
