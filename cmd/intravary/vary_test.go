//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/vary"
	intraruntime "github.com/intrahpc/intra/runtime"
)

var (
	taskAhead = intra.Register("vary.ahead")
	taskAdd   = intra.Register("vary.add")
)

// unstable is a program whose results lose a known number of digits.
func unstable(p *intra.Process, what string) error {
	switch what {
	case "solve":
		return solve(p)
	case "recur":
		return recur(p)
	case "cancel":
		return cancel(p)
	case "wait":
		return waitDisturbed(p)
	case "race":
		return race(p)
	case "silent":
		x := 1.0
		intra.Protect(p, "x", &x)
		return nil
	case "bare":
		return p.SafePoint()
	}
	return settle(p, what)
}

// The equations of solve have a Hilbert matrix, and a right side for which the solution is all
// ones.
const order = 6

func hilbert() (a [order * order]float64, b [order]float64) {
	for i := range order {
		for k := range order {
			a[i*order+k] = 1 / float64(i+k+1)
			b[i] += a[i*order+k]
		}
	}
	return a, b
}

// solve is a program that solves equations by elimination between two safe points.
func solve(p *intra.Process) error {
	a, b := hilbert()
	var x [order]float64
	intra.Protect(p, "a", &a)
	intra.Protect(p, "b", &b)
	intra.Protect(p, "x", &x)
	if err := p.SafePoint(); err != nil {
		return err
	}
	x = eliminate(a, b)
	if err := p.SafePoint(); err != nil {
		return err
	}
	fmt.Println("solved")
	return nil
}

// eliminate is Gauss's elimination. These equations need no pivots.
func eliminate(a [order * order]float64, b [order]float64) (x [order]float64) {
	for k := range order {
		for i := k + 1; i < order; i++ {
			f := a[i*order+k] / a[k*order+k]
			for j := k; j < order; j++ {
				a[i*order+j] -= f * a[k*order+j]
			}
			b[i] -= f * b[k]
		}
	}
	for i := order - 1; i >= 0; i-- {
		x[i] = b[i]
		for j := i + 1; j < order; j++ {
			x[i] -= a[i*order+j] * x[j]
		}
		x[i] /= a[i*order+i]
	}
	return x
}

// reach returns a norm of the inverse of the matrix, the largest sum of a row. It bounds how
// much a change of the right side may change the solution.
func reach() (norm float64) {
	a, _ := hilbert()
	var rows [order]float64
	for k := range order {
		var unit [order]float64
		unit[k] = 1
		for i, v := range eliminate(a, unit) {
			rows[i] += math.Abs(v)
		}
	}
	for _, r := range rows {
		norm = max(norm, r)
	}
	return norm
}

// The recurrence x” = 2.5 x' - x has solutions that halve in each step and solutions that
// double. recur follows the first kind, with powers of 2, which have no rounding error of
// their own.
const (
	recurring = 64
	lowered   = 16 // number of steps
)

func recur(p *intra.Process) error {
	was, is, next := make([]float64, recurring), make([]float64, recurring), make([]float64, recurring)
	for i := range is {
		was[i], is[i] = 1, 0.5
	}
	intra.Protect(p, "was", &was)
	intra.Protect(p, "is", &is)
	for range lowered {
		if err := p.SafePoint(); err != nil {
			return err
		}
		s := p.Section()
		for k := range 4 {
			lo, hi := k*recurring/4, (k+1)*recurring/4
			s.Launch(taskAhead, func() {
				for i := lo; i < hi; i++ {
					next[i] = 2.5*is[i] - was[i]
				}
			}, intra.In("was", was[lo:hi]), intra.In("is", is[lo:hi]), intra.Out("next", next[lo:hi]))
		}
		if err := s.End(); err != nil {
			return err
		}
		was, is, next = is, next, was
	}
	return p.SafePoint()
}

// cancel is a program that adds a few numbers in each task. The sums of two tasks nearly
// cancel: a millionth of them remains.
func cancel(p *intra.Process) error {
	sum, sums := 0.0, make([]float64, 2)
	intra.Protect(p, "sum", &sum)
	intra.Protect(p, "sums", &sums)
	for range 10 {
		if err := p.SafePoint(); err != nil {
			return err
		}
		sum = 0
		clear(sums)
		s := p.Section()
		for k := range 16 {
			x := math.Sqrt(float64(k + 2))
			if k%2 == 1 {
				x = 1e-6 - math.Sqrt(float64(k+1))
			}
			cell, r := intra.Reduce(s, "sum", &sum, func(a, b float64) float64 { return a + b })
			part, rs := intraruntime.ReduceSlice(s, "sums", sums, intraruntime.OpAdd[float64]())
			s.Launch(taskAdd, func() {
				*cell = x
				both := part.Slice()
				both[0], both[1] = x, x
			}, r, rs)
		}
		if err := s.End(); err != nil {
			return err
		}
	}
	return p.SafePoint()
}

// waitDisturbed is a program that waits forever if x was disturbed.
func waitDisturbed(p *intra.Process) error {
	x := 1.0
	intra.Protect(p, "x", &x)
	if err := p.SafePoint(); err != nil {
		return err
	}
	if x != 1 {
		<-p.Context().Done()
	}
	return nil
}

// race is a program that adds numbers of very different sizes in the order in which they
// arrive.
func race(p *intra.Process) error {
	sum := 0.0
	intra.Protect(p, "sum", &sum)
	for range 100 {
		if err := p.SafePoint(); err != nil {
			return err
		}
		if p.Rank() > 0 {
			time.Sleep(time.Millisecond)
			if err := comm.Send(p.World(), []float64{math.Pow(1e-5, float64(p.Rank()))}, 0, 0); err != nil {
				return err
			}
			continue
		}
		for range p.Size() - 1 {
			var x [1]float64
			if _, err := comm.Recv(p.World(), x[:], comm.AnySource, 0); err != nil {
				return err
			}
			sum = sum*0.9 + x[0]
		}
	}
	return p.SafePoint()
}

// settle is a program that adds until a sum has a value that only an undisturbed set reaches.
// A disturbed set continues for ten steps, and with "fail" then returns an error.
func settle(p *intra.Process, what string) error {
	sum := []float64{0}
	intra.Protect(p, "sum", &sum)
	for step := 1; step <= 10; step++ {
		if sum[0] == 4 {
			return p.SafePoint()
		}
		s := p.Section()
		s.Launch(taskAdd, func() { sum[0]++ }, intra.InOut("sum", sum))
		if err := s.End(); err != nil {
			return err
		}
		if err := p.SafePoint(); err != nil {
			return err
		}
	}
	if what == "fail" {
		return errors.New("it does not settle")
	}
	return nil
}

const (
	asUnstable  = "unstable:" // its first argument follows
	asIntravary = "INTRAVARY_OF_A_TEST"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asUnstable {
		intra.Main(func(p *intra.Process) error { return unstable(p, os.Args[2]) })
	}
	if os.Getenv(asIntravary) != "" {
		main()
		return
	}
	os.Exit(binaries.Main(m))
}

// start starts a run. flags are those of intravary, and job those of intrarun, or "alone" for
// a program without intrarun.
func start(t *testing.T, flags, job, what string) *jobtest.Job {
	t.Helper()
	command := []string{os.Args[0], asUnstable, what}
	if job != "alone" {
		command = slices.Concat([]string{binaries.Intrarun(t)}, strings.Fields(job), command)
	}
	return jobtest.Start(t, jobtest.Spec{Intrarun: os.Args[0], Flags: strings.Fields(flags), Program: command,
		Env: []string{asIntravary + "=1", "GORACE=atexit_sleep_ms=0"}})
}

// varied runs a program to its end. If nothing was compared, it returns a nil result.
func varied(t *testing.T, flags, job, what string) (jobtest.Result, *vary.Result) {
	t.Helper()
	r := start(t, flags, job, what).Wait(t)
	if len(r.Report) == 0 {
		return r, nil
	}
	v := new(vary.Result)
	r.Decode(t, v)
	return r, v
}

func variable(t *testing.T, all []vary.Variance, name string) vary.Variance {
	t.Helper()
	for _, v := range all {
		if v.Name == name {
			return v
		}
	}
	require.FailNow(t, "no variable "+name)
	return vary.Variance{}
}

// TestDigitsOfEquations checks the digits of equations whose right side is disturbed by eps:
// the solution has as many digits as the condition of the matrix leaves.
func TestDigitsOfEquations(t *testing.T) {
	_, b := hilbert()
	for _, eps := range []float64{1e-9, 1e-11} {
		r, v := varied(t, fmt.Sprintf("-sets 6 -state b=%v -seed 7", eps), "-r 1", "solve")
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, "solved\n", r.Stdout, "of the undisturbed set only")
		x := variable(t, v.Variables, "x")
		require.InDelta(t, -math.Log10(eps*reach()*b[0]), *x.Digits, 1)
		require.InDelta(t, -math.Log10(eps), *variable(t, v.Variables, "b").Digits, 0.1)
		require.Zero(t, variable(t, v.Variables, "a").Growth)
		for _, s := range v.Sets {
			require.Equal(t, int64(order), s.Disturbed)
			require.Nil(t, s.Apart)
			require.Equal(t, 2, s.SafePoints)
		}
		require.Regexp(t, `x +6 +\d\.\d`, r.Stderr)
	}
}

// TestDigitsOfRecurrence checks the digits of the recurrence, whose results shrink in each
// step. So the relative error of their last bits grows by a factor of 4 in each step, on any
// number of ranks and workers.
func TestDigitsOfRecurrence(t *testing.T) {
	for _, flags := range []string{"alone", "-r 1", "-n 3 -r 1 -threads 2", "-n 2 -r 2 -link tcp"} {
		r, v := varied(t, "-sets 3 -bits 1 -seed 3", flags, "recur")
		require.Zero(t, r.Code, r.Stderr)
		is := variable(t, v.Variables, "is")
		require.InDelta(t, 53*math.Log10(2)-(lowered-1)*math.Log10(4), *is.Digits, 1, flags)
		require.InDelta(t, 4, is.Growth, 0.5, flags)
		course := variable(t, v.Sets[0].Variables, "is").Course
		require.Len(t, course, lowered+1)
		for _, step := range course[1:] {
			require.InDelta(t, 53*math.Log10(2)-float64(step.SafePoint-2)*math.Log10(4), step.Digits, 1, flags)
		}
	}
	// The same seed disturbs the same numbers, whatever the number of workers. Another seed
	// does not.
	_, a := varied(t, "-sets 3 -bits 10% -seed 3", "-r 1", "recur")
	_, b := varied(t, "-jobs 2 -sets 3 -bits 10% -seed 3", "-r 2 -threads 4", "recur")
	_, c := varied(t, "-sets 3 -bits 10% -seed 4", "-r 1", "recur")
	require.Equal(t, a, b)
	require.NotEqual(t, a.Sets, c.Sets)
	// With -every, values are compared only at some safe points.
	_, d := varied(t, "-sets 3 -bits 10% -every 5 -seed 3", "-r 1", "recur")
	require.Equal(t, []uint64{1, 6, 11, 16}, pointsOf(d.Sets[0].Variables[0]))
}

func pointsOf(v vary.Variance) (all []uint64) {
	for _, s := range v.Course {
		all = append(all, s.SafePoint)
	}
	return all
}

// TestDigitsOfSums checks sums whose terms are a million times as large as the sum: they lose
// six digits if the terms are added in another order.
func TestDigitsOfSums(t *testing.T) {
	r, v := varied(t, "-sets 4 -order -seed 2", "-n 2 -r 1", "cancel")
	require.Zero(t, r.Code, r.Stderr)
	largest, left := math.Sqrt(17), 8e-6
	for _, name := range []string{"sum", "sums"} {
		require.InDelta(t, 53*math.Log10(2)-math.Log10(largest/left), *variable(t, v.Variables, name).Digits, 1, name)
	}
	require.Equal(t, int64(2*10*2), v.Sets[0].Disturbed, "sums in each section of each rank")
	r, _ = varied(t, "-sets 2 -order", "-r 1", "recur")
	require.Equal(t, 1, r.Code, "there is nothing to be added")
	require.Contains(t, r.Stderr, "nothing was disturbed in set 1")
}

// TestDepartingSets checks that intravary reports a set that runs other sections, and
// fails if a set fails.
func TestDepartingSets(t *testing.T) {
	r, v := varied(t, "-sets 2 -bits 1", "-r 1", "settle")
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, &vary.Apart{Rank: 0, SafePoint: 5, Sections: 5, Undisturbed: 4}, v.Sets[0].Apart)
	require.Contains(t, r.Stderr, "apart since safe point 5 of rank 0, with 5 sections before it, not 4")

	r, v = varied(t, "-sets 3 -bits 1", "-r 1", "fail")
	require.Equal(t, 1, r.Code, r.Stderr)
	require.Equal(t, 1, v.Sets[0].ExitCode)
	require.Contains(t, r.Stderr, "it does not settle")
	require.Contains(t, r.Stderr, "set 2, which was disturbed, ended with exit code 1")
	require.Contains(t, r.Stderr, "exit code 1 after 10 safe points")
}

// An interrupt during any set ends all sets. Even if intravary is killed, no process remains.
func TestInterruptEndsAllSets(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		j := start(t, "-v -sets 3 -state 1e-3 -jobs 1", "-n 2 -r 1 -stuck off", "wait")
		for !strings.Contains(j.Stderr(), "set 1 begins") {
			select {
			case <-j.Ended():
				require.FailNow(t, "it has ended", j.Stderr())
			case <-time.After(5 * time.Millisecond):
			}
		}
		require.NoError(t, syscall.Kill(j.PID(), s))
		r := j.Wait(t)
		require.Empty(t, r.Report)
		if s == syscall.SIGKILL {
			require.Equal(t, -1, r.Code)
			continue
		}
		require.Equal(t, 130, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "interrupted before all sets had ended")
		require.NotContains(t, r.Stderr, "set 2 begins")
	}
}

// If variables cannot be compared, or were not disturbed, there is no result.
func TestNothingToCompare(t *testing.T) {
	for _, c := range []struct {
		flags, job, what string
		code             int
		want             string
	}{
		{"-bits 1", "-r 1", "silent", 1, "the program came to no safe point, so nothing was compared"},
		{"-bits 1", "-r 1", "bare", 1, "intravary compares registered variables, and the program has registered none"},
		{"-bits 1", "-r 1", "solve", 1, "nothing was disturbed in set 1 up to its last safe point"},
		{"-state y=1e-3", "-r 1", "solve", 1, `rank 0 has registered no variable of that name, but ["a" "b" "x"]`},
		{"-bits 1 -size 4K", "-r 1", "recur", 1, "compare fewer safe points (-every N)"},
		{"-bits 1 -quiet", "-n 2 -r 1 -quiet", "recur", 0, ""},
	} {
		r, v := varied(t, "-sets 2 "+c.flags, c.job, c.what)
		require.Equal(t, c.code, r.Code, "%s: %s", c.flags, r.Stderr)
		require.Contains(t, r.Stderr, c.want)
		require.Equal(t, c.code == 0, v != nil)
		if c.code == 0 {
			require.Empty(t, r.Stderr)
		}
	}
}

// A process that is stopped from time to time is overtaken by its peers. That changes the
// result of a program that depends on the order of messages.
func TestOrderOfMessages(t *testing.T) {
	for _, hold := range []string{"20ms", "200ms", "1s"} { // on a busy machine no two messages may be there at once for a short time
		r, v := varied(t, "-sets 2 -hold "+hold, "-n 3 -r 1", "race")
		if hold != "1s" && strings.Contains(r.Stderr, "nothing was disturbed in set 1") {
			continue
		}
		require.Zero(t, r.Code, r.Stderr)
		require.Positive(t, v.Sets[0].Held)
		require.Less(t, *variable(t, v.Variables, "sum").Digits, 15.9, r.Stderr)
		return
	}
}

// A wrong command line is refused before any run.
func TestRefusedFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"-sets 1 -bits 1":           "-sets 1: want 2 to 100 sets, of which the first is undisturbed",
		"-sets 2":                   "nothing says how the sets are disturbed: give -bits P",
		"-bits 1 -report /no/where": "-report",
		"-bits 1 -jobs -1":          "-jobs -1: want 1 or more",
		"-bitz 1":                   "-bitz",
	} {
		r, _ := varied(t, flags, "-r 1", "recur")
		require.Equal(t, 2, r.Code, "%s: %s", flags, r.Stderr)
		require.Contains(t, r.Stderr, want)
		require.Empty(t, r.Stdout)
	}
	r := jobtest.Run(t, jobtest.Spec{Intrarun: os.Args[0], Flags: []string{"-bits", "1"}, Env: []string{asIntravary + "=1"}})
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, "no command given")
}
