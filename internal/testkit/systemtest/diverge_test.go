//go:build system

package systemtest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// diverge runs the program with one error, with safe points or only with sections.
func diverge(t *testing.T, flags, how, passes string, sections bool) jobRun {
	t.Helper()
	program := []string{binaries.Program(t, "internal/testkit/systemtest/diverge"), how, passes}
	if sections {
		program = append(program, "sections")
	}
	return newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: program}))
}

// A program that makes its replicas diverge ends with exit code 4, and the message names a
// variable that differs, both values, and possible causes.
func TestDivergenceIsFound(t *testing.T) {
	var valued, all atomic.Int64
	t.Run("jobs", func(t *testing.T) {
		for i, c := range []struct {
			how   string
			named string // the variable that differs, as a pattern
		}{
			{"time", `x\[17\]`}, {"rand", `x\[18\]`}, {"replica", `x\[19\]`}, {"map", `x\[21\]`}, {"clause", `[xy]\[\d+\]`},
		} {
			for k, flags := range []string{"-n 1 -r 2", "-n 1 -r 3", "-degrees 1,2 -link tcp"} {
				sections := (i+k)%2 == 0
				t.Run(fmt.Sprintf("%s %s %v", c.how, flags, sections), func(t *testing.T) {
					t.Parallel()
					r := diverge(t, flags, c.how, "1500", sections)
					require.Equal(t, 4, r.code, r.stderr)
					requireDiverged(t, r.report.Error)
					require.NotEmpty(t, r.report.Diverge.Differed)
					requireDiverged(t, r.report.Diverge.Differed[0])
					all.Add(1)
					of := ""
					if sections {
						of = ` of task \d+ \((?:scale|shift)\)`
					}
					if strings.Contains(r.report.Error, "only the hash is known") {
						return // the replicas were far apart, or equal again
					}
					valued.Add(1)
					// Elements of x and y depend on each other, so any of them may be named.
					require.Regexp(t, `; at (?:safe point|the entry of section) \d+ (?:`+c.named+`|y\[\d+\])`+of+` is (-?\d[-+.\de]*) on replica \d and (-?\d[-+.\de]*) on replica \d: a wrong`, r.report.Error)
				})
			}
		}
	})
	require.GreaterOrEqual(t, 2*valued.Load(), all.Load(), "few messages have values")
}

// A difference that occurs shortly before the program returns is found by the hash at the
// end.
func TestDivergenceInTheLastPassesIsFound(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-n 1 -r 2", "-n 1 -r 3 -kill 0.0@section:300", "-degrees 1,2 -link tcp"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			r := diverge(t, flags, "late", "400", false)
			require.Equal(t, 4, r.code, r.stderr)
			require.Contains(t, r.stderr, "the registered state")
			require.Contains(t, r.stderr, "a wrong clause, or time, random numbers, map order: run with -check")
		})
	}
}

// One replica has sent a message that another has not sent. This is found even if no rank
// receives the message: at one of the next safe points, even if a replica is replaced
// meanwhile, or when the program returns.
func TestMessageOfOneReplicaIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags, passes string
		sections      bool
		text          string
	}{
		{"-n 2 -r 2", "1500", false, `numbers of messages sent differed on replicas [01] and [01] at safe point \d+; at safe point \d+ messages to rank\[1\] is 0 on replica 0 and 1 on replica 1`},
		{"-n 2 -r 2 -replace -kill 1.1@section:40", "1500", false, `numbers of messages sent differed`},
		{"-n 2 -r 2 -link tcp", "20", true, `numbers of messages sent differed on replicas [01] and [01] when the program returned`},
	} {
		t.Run(fmt.Sprintf("%s %v", c.flags, c.sections), func(t *testing.T) {
			t.Parallel()
			r := diverge(t, c.flags, "send", c.passes, c.sections)
			require.Equal(t, 4, r.code, r.stderr)
			require.Regexp(t, c.text, r.stderr)
		})
	}
}

// requireDiverged checks the parts that all messages about divergence have.
func requireDiverged(t *testing.T, text string) {
	t.Helper()
	require.Regexp(t, `(?:the registered state|what the tasks of section \d+ read) differed on replicas \d and \d`, text)
	require.Contains(t, text, ": a wrong clause, or time, random numbers, map order: run with -check")
}

// No divergence of a correct program is reported, whichever replicas die or are replaced,
// and the job continues.
func TestRightProgramIsNotReported(t *testing.T) {
	t.Parallel()
	for _, flags := range jobtest.Some([]string{
		"-n 2 -r 2", "-n 2 -r 3 -kill 0.1@task:90 -kill 1.0@section:30", "-degrees 1,3,2 -kill 1.0@task:40",
		"-n 2 -r 2 -replace -kill 0.0@task:60 -kill 1.1@task:150", "-n 2 -r 2 -spares 1 -kill 0.1@task:60 -link tcp",
		"-n 2 -r 2 -replace -backup 3 -kill 0.0@task:300 -kill 0.1@task:300", "-n 2 -r 2 -check", "-n 2 -r 2 -sdc dual,state",
		"-n 2 -r 2 -sched replicate", "-n 2 -r 2 -direct off -sched static",
	}, 1, 2, 3, 5, 6, 7) {
		for _, sections := range []bool{false, true} {
			if sections && (strings.Contains(flags, "-replace") || strings.Contains(flags, "-spares")) {
				continue // replicas join only at safe points
			}
			t.Run(fmt.Sprintf("%s %v", flags, sections), func(t *testing.T) {
				t.Parallel()
				r := diverge(t, flags, "right", "60", sections)
				require.Zero(t, r.code, r.stderr)
				r.report.RequireFired(t)
				require.NotContains(t, r.stderr, "differ")
				if strings.Contains(flags, "-sdc") {
					require.Nil(t, r.report.Diverge)
					return
				}
				d := r.report.Diverge
				require.Equal(t, "strict", d.Mode)
				require.Empty(t, d.Differed)
				require.True(t, d.Hashes > 0 || sections && strings.Contains(flags, "-check"), "%+v", d)
			})
		}
	}
}

// With -diverge warn the user gets one warning, and the job continues. With off nothing is
// compared.
func TestDivergenceModes(t *testing.T) {
	t.Parallel()
	r := diverge(t, "-n 1 -r 2 -diverge warn", "replica", "4000", false) // long enough that neither has returned when the values are compared
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 1, strings.Count(r.stderr, "warning: replicas diverged: "), r.stderr)
	require.Regexp(t, `x\[19\] is [-+.\de]+ on replica 0 and [-+.\de]+ on replica 1: a wrong clause`, r.stderr)
	require.Len(t, r.report.Diverge.Differed, 1)

	r = diverge(t, "-n 1 -r 2 -diverge off", "replica", "60", false)
	require.Zero(t, r.code, r.stderr)
	require.Nil(t, r.report.Diverge)

	r = diverge(t, "-n 2 -r 1", "replica", "60", false) // one replica has no other one to compare with
	require.Zero(t, r.code, r.stderr)
	require.Nil(t, r.report.Diverge)
}

// If a replica dies after its hash was sent, or while the replicas compare values, no replica waits for it
// forever.
func TestDivergenceAndDeath(t *testing.T) {
	t.Parallel()
	for _, kill := range jobtest.Some([]string{"0.0@section:8", "0.0@section:9", "0.1@section:9", "0.1@section:11", "0.0@task:60", "0.2@task:70"}, 1, 3, 5) {
		t.Run(kill, func(t *testing.T) {
			t.Parallel()
			r := diverge(t, "-n 1 -r 3 -kill "+kill, "replica", "400", false)
			require.Equal(t, 4, r.code, r.stderr)
			require.Contains(t, r.stderr, "the registered state differed on replicas")
		})
	}
}

// The program has returned on replica 0, or soon will, when replica 1 differs, at a safe point
// that is hashed in any case. Replica 1 dies right after it has sent its hash. The known
// difference ends the job.
func TestDivergenceAfterTheProgramHasReturned(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"auto", "tcp"} {
		r := diverge(t, "-n 1 -r 2 -sched replicate -kill 0.1@section:31 -link "+link, "behind", "18", false)
		require.Equal(t, 4, r.code, r.stderr) // the job may end before the kill
		require.Regexp(t, `the registered state differed on replicas 0 and 1 at safe point 16, first in x; only the hash is known \([\da-f]+ on replica 0, [\da-f]+ on replica 1\), since (the program has returned on one of them|0\.1 died before values were compared): a wrong clause`, r.report.Error)
	}
}

// A MarshalBinary that follows the order of a map returns different bytes on each call.
// That is not a divergence.
func TestMarshalBinaryInTheOrderOfAMap(t *testing.T) {
	t.Parallel()
	r := diverge(t, "-n 2 -r 3", "order", "60", false)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.report.Diverge.Differed)
	r = diverge(t, "-n 2 -r 3 -sdc off -diverge strict -link tcp", "order", "400", false)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, `intra.Protect("states"): its MarshalBinary returns other bytes each time`)
}
