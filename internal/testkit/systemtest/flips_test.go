//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// fate is the outcome of a flip.
type fate string

const (
	flipRepaired fate = "found and repaired"
	flipEnded    fate = "found, and the job ended with exit code 4"
	flipFailed   fate = "the program failed because of it"
	flipMasked   fate = "masked: the results have the same bits"
	flipEscaped  fate = "escaped: in a task that was not sampled, or read by others before the state was compared"
	flipUnfired  fate = "not reached"
)

// flipPlan is a job with one flip.
type flipPlan struct {
	point job.FlipPoint
	flip  string
	flags string
	sees  bool // the mode finds every such flip, unless the flip is masked
}

// planFlip chooses the flip of a job, its mode and its conditions. tasks is the number of
// tasks of each process, points that of safe points.
func planFlip(seed uint64, tasks, points int64) flipPlan {
	rng := rand.New(rand.NewPCG(seed, 41))
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	p := flipPlan{sees: true}
	degree := 2 + rng.IntN(2)
	wrong := job.Process{Rank: rng.IntN(2), Replica: rng.IntN(degree)}
	var mode, more string
	var count int64
	switch p.point = []job.FlipPoint{job.FlipTask, job.FlipState, job.FlipMessage, job.FlipUpdate}[rng.IntN(4)]; p.point {
	case job.FlipTask:
		mode, count = pick("dual", "dual,state", "dual,state=3"), rng.Int64N(tasks)
		if seed%10 == 9 {
			mode, p.sees = "sample=30%", false
			count /= int64(degree) // the process runs only its share of the tasks that are not sampled
			more = " -sched static"
		}
	case job.FlipState:
		mode, count = pick("state", "dual,state"), rng.Int64N(points)
	case job.FlipMessage:
		mode, count = pick("dual", "state", "sample", "dual,state"), rng.Int64N(20)
	case job.FlipUpdate: // received updates of small tasks belong to tasks that are sent
		mode, count = "state", rng.Int64N(tasks/int64(degree))
		p.sees, more = false, " -sched static -direct off"
	}
	// A result that only one replica has, or a message that only one sends, cannot be
	// compared.
	if p.sees && (p.point == job.FlipTask || degree > 2) && rng.IntN(3) == 0 {
		other := job.Process{Rank: wrong.Rank, Replica: (wrong.Replica + 1) % degree}
		at := rng.Int64N(tasks)
		if degree == 2 { // otherwise the rank would consist of the blamed process and this one
			at = rng.Int64N(count + 1)
		}
		more += fmt.Sprintf(" -kill %v@task:%d", other, at)
	}
	more += pick("", "", " -threads 2", " -link tcp")
	more += pick("", " -replace", " -replace -backup 1", " -replace -backup 7")
	if p.point != job.FlipUpdate && p.sees {
		more += pick("", "", " -direct off", " -sched static", " -sched static -direct off", " -sched replicate")
	}
	p.flip = fmt.Sprintf("%v@%s:%d", wrong, p.point, count)
	p.flags = fmt.Sprintf("-n 2 -r %d -sdc %s%s -fault flip:%s", degree, mode, more, p.flip)
	return p
}

// try runs a job with a flip, and returns the fate of the flip.
func (p flipPlan) try(t *testing.T, program []string, want string) fate {
	r, c := verified(t, p.flags, program)
	printed := fmt.Sprintf("%s\n%s%s", r.Spec, r.Stderr, r.Report)
	require.Len(t, c.Flips, 1, printed)
	if !c.Flips[0].Fired {
		require.Zero(t, r.Code, printed)
		require.Equal(t, want, r.Stdout, printed)
		return flipUnfired
	}
	switch {
	case r.Code == 4:
		require.Regexp(t, "silent corruption|divergence", r.Stderr, printed)
		return flipEnded
	case r.Code != 0 && (p.point == job.FlipMessage || !p.sees): // the program has failed because of the flip
		return flipFailed
	}
	require.Zero(t, r.Code, printed)
	require.Equal(t, c.SDC.Differed, c.SDC.Repaired, printed)
	if r.Stdout != want {
		require.False(t, p.sees, "the flip has escaped: %s", printed)
		return flipEscaped
	}
	if c.SDC.Differed == 0 {
		return flipMasked
	}
	return flipRepaired
}

// flipPrograms returns small jobs of HPCCG and GTC, with the number of their safe points.
func flipPrograms() map[string]int64 { return map[string]int64{"hpccg": 29, "gtc": 2} }

// TestFlips runs jobs of real processes with one flipped bit: of the output of a task, of
// a received update, of a message, or of the registered state at a safe point. Meanwhile
// replicas die and are replaced. The flip is found, or the results have the same bits. If
// only a share of the tasks is sampled, or the flip is in an update, it may escape, which
// is counted. INTRA_FLIPS is the number of jobs.
func TestFlips(t *testing.T) {
	jobs, first := simseed.Environment(t, "INTRA_FLIPS", 6), simseed.Environment(t, "INTRA_SEED", 0)
	var mu sync.Mutex
	tally := make(map[string]int)
	for name, points := range flipPrograms() {
		program := wrongPrograms(t)[name]
		r, c := verified(t, "-n 2 -sdc dual", program)
		require.Zero(t, r.Code, r.Stderr)
		t.Run(name, func(t *testing.T) {
			for seed := first; seed < first+jobs/2; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					p := planFlip(seed, c.SDC.Compared/2, points)
					f := p.try(t, program, r.Stdout)
					mu.Lock()
					defer mu.Unlock()
					tally[fmt.Sprintf("%s, %s: %s", name, p.point, f)]++
				})
			}
		})
	}
	for what, n := range tally {
		t.Logf("%d %s", n, what)
	}
}

// TestNoFlips runs jobs without flipped bits, under all modes, while replicas are killed
// and replaced, stopped, or slowed down. No difference is found, and no process is blamed.
// INTRA_FLIPS sets the number of jobs: ten times that of the other tests.
func TestNoFlips(t *testing.T) {
	jobs, first := simseed.Environment(t, "INTRA_FLIPS", 1)*10, simseed.Environment(t, "INTRA_SEED", 0)
	var mu sync.Mutex
	tally := make(map[string]int)
	for name := range flipPrograms() {
		program := wrongPrograms(t)[name]
		r, c := verified(t, "-n 2 -sdc dual", program)
		require.Zero(t, r.Code, r.Stderr)
		t.Run(name, func(t *testing.T) {
			for seed := first; seed < first+jobs/2; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					under := calm(t, seed, program, r.Stdout, c.SDC.Compared/2)
					mu.Lock()
					defer mu.Unlock()
					tally[name+", "+under]++
				})
			}
		})
	}
	for what, n := range tally {
		t.Logf("%d %s", n, what)
	}
}

// calm runs a job without flips, and returns a description of the other faults.
func calm(t *testing.T, seed uint64, program []string, want string, tasks int64) (under string) {
	rng := rand.New(rand.NewPCG(seed, 43))
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	degree := 2 + rng.IntN(2)
	flags := fmt.Sprintf("-n 2 -r %d -sdc %s%s%s", degree, pick("dual", "state", "dual,state", "sample=20%,state=3", "sample"),
		pick("", "", " -threads 2", " -link tcp"), pick("", " -replace", " -replace -backup 2"))
	under = pick("nothing", "a kill", "stops", "a slow replica")
	victim := job.Process{Rank: rng.IntN(2), Replica: rng.IntN(degree)}
	if under == "a kill" {
		flags += fmt.Sprintf(" -kill %v@task:%d", victim, rng.Int64N(tasks))
	}
	j := jobtest.Start(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: program})
	done := make(chan struct{})
	go func() {
		defer close(done)
		switch under {
		case "stops":
			stop(j, victim, 1+rng.IntN(3), time.Duration(rng.IntN(150))*time.Millisecond)
		case "a slow replica":
			stop(j, victim, 50, 4*time.Millisecond)
		}
	}()
	r := j.Wait(t)
	<-done
	printed := fmt.Sprintf("%s\n%s%s", r.Spec, r.Stderr, r.Report)
	require.Zero(t, r.Code, printed)
	require.Equal(t, want, timeless(t, r.Stdout), printed)
	var c corrupted
	r.Decode(t, &c)
	require.Zero(t, c.SDC.Differed, printed)
	require.Empty(t, c.SDC.Blamed, printed)
	return under
}

// stop stops a process of a job several times, for long each time.
func stop(j *jobtest.Job, victim job.Process, times int, long time.Duration) {
	for range times {
		select {
		case <-j.Ended():
			return
		case <-time.After(long + 5*time.Millisecond):
		}
		for _, p := range j.Processes() {
			if p.Rank && p.Name == victim.String() && syscall.Kill(p.PID, syscall.SIGSTOP) == nil {
				time.Sleep(long)
				_ = syscall.Kill(p.PID, syscall.SIGCONT)
			}
		}
	}
}
