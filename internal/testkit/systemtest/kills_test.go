//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// kills runs the small problem with kills. It checks that all kills happened and that the
// result has the same bits.
func kills(t *testing.T, want, flags string, list ...string) jobRun {
	t.Helper()
	for _, k := range list {
		flags += " -kill " + k
	}
	r := intrarun(t, flags, small...)
	got := r.sum(t)
	require.Equal(t, want, got, flags)
	require.Len(t, r.report.Kills, len(list), flags)
	for _, k := range r.report.Kills {
		require.True(t, k.Fired, "%s: %v", flags, k)
	}
	require.Len(t, r.report.Failures, len(list), flags)
	for _, f := range r.report.Failures {
		require.Equal(t, job.CauseInjected, f.Cause, flags)
	}
	return r
}

// The small problem has 58 sections. With two replicas and the static schedule, each replica runs 8
// tasks in each section, and sends their results.
const sections, tasksOfEach = 58, 58 * 8

// steps returns the numbers from 0 to all-1. Without `make matrix` it returns only some of
// them, evenly spaced, including the first and the last.
func steps(all, some int) (numbers []int) {
	some = jobtest.Count(some, all)
	for i := range some {
		numbers = append(numbers, i*(all-1)/(some-1))
	}
	return numbers
}

func TestKillAtEveryPoint(t *testing.T) {
	want := serial(t, small...).sum(t)
	t.Run("one of two", func(t *testing.T) {
		for _, i := range steps(12, 4) {
			victim, link := i%2, []string{"shm", "unix", "tcp"}[i%3]
			flags := "-r 2 -sched static -link " + link
			kills(t, want, flags, fmt.Sprintf("0.%d@section:%d", victim, i*(sections-1)/11))
			kills(t, want, flags, fmt.Sprintf("0.%d@task:%d", victim, i*(tasksOfEach-1)/11))
			kills(t, want, flags, fmt.Sprintf("0.%d@update:%d", victim, i*(tasksOfEach-1)/11))
		}
	})
	t.Run("two of three", func(t *testing.T) {
		for _, i := range steps(8, 3) {
			a, b := i%3, (i+1)%3
			for _, point := range []string{"section", "task", "update"} {
				most := map[string]int{"section": sections, "task": 58 * 5, "update": 58 * 5}[point]
				k := i * (most - 1) / 7
				kills(t, want, "-r 3 -sched static", fmt.Sprintf("0.%d@%s:%d", a, point, k), fmt.Sprintf("0.%d@%s:%d", b, point, k))
			}
		}
	})
	t.Run("at random", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2015))
		for range jobtest.Count(2, 20) {
			r := 2 + rng.IntN(2)
			point := []string{"section", "task", "update"}[rng.IntN(3)]
			most := map[string]int{"section": sections, "task": 58 * 5, "update": 58 * 5}[point]
			kills(t, want, fmt.Sprintf("-r %d -sched static", r), fmt.Sprintf("0.%d@%s:%d", rng.IntN(r), point, rng.IntN(most)))
		}
	})
}

// On links on which an update can be torn, one is torn.
func TestTornUpdatesOfRealProcesses(t *testing.T) {
	args := strings.Fields("-nx 64 -ny 64 -nz 32 -iters 6 -json")
	want := serial(t, args...).sum(t)
	for _, link := range []string{"-link unix", "-link tcp", "-link shm -ring 4096"} {
		t.Run(link, func(t *testing.T) {
			torn := int64(0)
			for _, kill := range []string{"0.0@update:3", "0.1@update:30", "0.1@update:70", "0.0@update:160"} {
				r := intrarun(t, "-r 2 -sched static "+link+" -kill "+kill, args...)
				got := r.sum(t)
				require.Equal(t, want, got)
				require.True(t, r.report.Kills[0].Fired)
				torn += r.report.UpdatesTorn
			}
			require.Positive(t, torn)
		})
	}
}

func TestKillsWithRanks(t *testing.T) {
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 20 -json")
	want := intrarun(t, "-n 4 -r 1", args...).sum(t)
	rng := rand.New(rand.NewPCG(4, 2013))
	for turn, flags := range []string{"-n 4 -r 2", "-degrees 2,1,2,3"} {
		for i := range jobtest.Count(2, 12) {
			rank := rng.IntN(4)
			if flags != "-n 4 -r 2" && rank == 1 {
				rank = 3
			}
			point := []string{"message", "section", "task", "update"}[(i+2*turn)%4]
			most := map[string]int{"message": 30, "section": 90, "task": 400, "update": 400}[point]
			kill := fmt.Sprintf("%d.%d@%s:%d", rank, rng.IntN(2), point, rng.IntN(most))
			r := intrarun(t, flags+" -sched static -kill "+kill, args...)
			got := r.sum(t)
			require.Equal(t, want, got, kill)
			require.True(t, r.report.Kills[0].Fired, kill)
			require.Len(t, r.report.Failures, 1, kill)
		}
	}
	r := intrarun(t, "-degrees 2,1,2,3 -kill 1.0@message:5", args...)
	require.Equal(t, 3, r.code)
	require.Contains(t, r.report.Error, "rank 1")
}

func TestAllReplicasKilled(t *testing.T) {
	r := intrarun(t, "-r 2 -sched static -kill 0.0@task:30 -kill 0.1@task:200", small...)
	require.Equal(t, 3, r.code)
	require.Contains(t, r.stderr, "rank 0 has lost its last replica")
	require.NotEmpty(t, r.report.Error)
	require.Empty(t, r.stdout)
}
