package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/simseed"
	"github.com/intrahpc/intra/intratest"
)

var mix = intra.Register("engine_test.mix")

// unhurried runs sections that a seed chooses on a few arrays, most of them
// without waiting, and what settles them: some tasks read what others write or
// the other way round, and some do not.
type unhurried struct {
	seed  uint64
	steps int
	slow  time.Duration // of a step, so that a replacement comes in time
	waits bool          // all sections wait

	mu   sync.Mutex
	ends map[int][][]float64 // of each rank, what its replicas came to
}

const arrays = 5

func (u *unhurried) run(p *intra.Process) error {
	n := 20 + int(u.seed%37)
	var x [arrays][]float64
	step := 0
	intra.Protect(p, "step", &step)
	for i := range x {
		x[i] = make([]float64, n)
		intra.Protect(p, fmt.Sprint("x", i), &x[i])
		for k := 0; k < n && !p.Restored(); k++ {
			x[i][k] = 1 / float64(1+i+k+p.Rank())
		}
	}
	for ; step < u.steps; step++ {
		rng := rand.New(rand.NewPCG(u.seed, uint64(step)))
		if rng.IntN(3) == 0 {
			if err := p.SafePoint(); err != nil {
				return err
			}
		}
		time.Sleep(u.slow)
		for range rng.IntN(6) {
			if err := u.section(p, &x, rng); err != nil {
				return err
			}
		}
		if err := settle(p, &x, rng); err != nil {
			return err
		}
	}
	if rng := rand.New(rand.NewPCG(u.seed, 0)); rng.IntN(2) == 0 {
		if err := u.section(p, &x, rng); err != nil { // the last ones are settled by the end
			return err
		}
	}
	if err := p.Settle(); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ends[p.Rank()] = append(u.ends[p.Rank()], append(append([]float64(nil), x[0]...), x[1]...))
	return nil
}

// section writes one array, in place or not, from another one.
func (u *unhurried) section(p *intra.Process, x *[arrays][]float64, rng *rand.Rand) error {
	to, from := rng.IntN(arrays), rng.IntN(arrays-1)
	if from >= to {
		from++
	}
	keeps, factor := rng.IntN(2) == 0, 0.5+float64(rng.IntN(8))/16
	var opts []intra.SectionOption
	if noWait := rng.IntN(4) > 0; noWait && !u.waits {
		opts = append(opts, intra.NoWait)
	}
	s := p.Section(opts...)
	y, z := x[to], x[from]
	for lo, hi := range intra.Blocks(len(y), 8) {
		part, r := y[lo:hi], intra.Out("part", y[lo:hi])
		if keeps {
			r = intra.InOut("part", part)
		}
		s.Launch(mix, func() {
			for i := range part {
				was := 0.0
				if keeps {
					was = part[i]
				}
				part[i] = float64(was*0.25) + float64(z[(lo+i+1)%len(z)]*factor) + 1/float64(lo+i+2)
			}
		}, r, intra.In("from", z))
	}
	return s.End()
}

// settle does something that needs the arrays.
func settle(p *intra.Process, x *[arrays][]float64, rng *rand.Rand) (err error) {
	c, at := p.World(), rng.IntN(arrays)
	switch rng.IntN(6) {
	case 0:
		err = comm.Allreduce(c, nil, x[at], func(a, b float64) float64 { return (a + b) / 2 })
	case 1:
		// What is sent is settled, what the receive gets lies elsewhere.
		in := make([]float64, len(x[at]))
		r := comm.Irecv(c, in, (c.Rank()+c.Size()-1)%c.Size(), 3)
		if err := comm.Send(c, x[at], (c.Rank()+1)%c.Size(), 3); err != nil {
			return err
		}
		if _, err = r.Wait(); err == nil {
			x[at][0] += in[len(in)-1]
		}
	case 2:
		var v float64
		v, err = intra.Once(p, func() (float64, error) { return 0.5, nil })
		x[at][1] += float64(v * x[at][2])
	case 3:
		if err = p.Settle(); err == nil {
			x[at][0] += x[(at+1)%arrays][3]
		}
	case 4:
		err = c.Barrier()
	}
	return err
}

// result runs the program and returns what each replica of each rank came to.
func (u *unhurried) result(t *testing.T, degrees []int, opts ...intratest.Option) (map[int][][]float64, intratest.Report) {
	t.Helper()
	u.ends = make(map[int][][]float64)
	report := intratest.Run(t, intra.Spec{Degrees: degrees}, u.run, opts...)
	return u.ends, report
}

// requireSame compares what each replica came to with the run of ranks alone.
func requireSame(t *testing.T, want, got map[int][][]float64, what string) {
	t.Helper()
	for rank := range want {
		require.NotEmpty(t, got[rank], what)
		for _, x := range got[rank] {
			require.Equal(t, want[rank][0], x, what)
		}
	}
}

// TestNoWait: whatever the degrees, the schedule, the threads and the deaths, at
// any point while sections are open, each rank comes to what it comes to alone
// with sections that wait. So it does when the dead are replaced.
func TestNoWait(t *testing.T) {
	first, n := simseed.Range(t, 60)
	deaths, replaced := 0, 0
	for seed := first; seed < first+n; seed++ {
		rng := rand.New(rand.NewPCG(seed, 9))
		ranks := 1 + rng.IntN(3)
		u := unhurried{seed: seed, steps: 6, waits: true}
		want, _ := u.result(t, make1(ranks))
		degrees := make([]int, ranks)
		for i := range degrees {
			degrees[i] = 2 + rng.IntN(2)
		}
		victim := rng.IntN(ranks)
		u.waits = false
		opts := []intratest.Option{intratest.Threads(1 + rng.IntN(3)), intratest.Capacity(64 + rng.IntN(500)),
			intratest.Sched([]string{"static", "adaptive"}[rng.IntN(2)])}
		var kills []string
		for r := range 1 + rng.IntN(degrees[victim]-1) {
			point := []string{"section", "task", "update", "message"}[rng.IntN(4)]
			kills = append(kills, fmt.Sprintf("%d.%d@%s:%d", victim, r, point, rng.IntN(60)))
		}
		if rng.IntN(3) == 0 {
			u.slow = time.Millisecond
			opts = append(opts, intratest.Replace())
		}
		what := fmt.Sprintf("seed %d, degrees %v, kills %v", seed, degrees, kills)
		got, report := u.result(t, degrees, append(opts, intratest.MayKill(kills...))...)
		requireSame(t, want, got, what)
		deaths, replaced = deaths+len(report.Deaths), replaced+len(report.Replaced)
	}
	if n >= 60 {
		require.Greater(t, deaths, 20, "too few kill points were reached")
		require.Positive(t, replaced, "nobody was replaced")
	}
}

func make1(ranks int) []int {
	degrees := make([]int, ranks)
	for i := range degrees {
		degrees[i] = 1
	}
	return degrees
}

// TestNoWaitRollback: a rank loses all its replicas while sections are open, and
// the job goes back.
func TestNoWaitRollback(t *testing.T) {
	back := 0
	for seed := range uint64(8) {
		u := unhurried{seed: seed, steps: 40, waits: true}
		want, _ := u.result(t, []int{1, 1})
		u.waits, u.slow = false, time.Millisecond
		for _, kills := range [][]string{
			{"1.0@task:300", "1.1@task:320"},
			{"0.0@update:150", "0.1@section:60"},
			{"1.0@section:40", "1.1@section:40", "0.0@task:260"},
		} {
			got, report := u.result(t, []int{2, 2}, intratest.Replace(), intratest.Backup(2), intratest.Sched("static"), intratest.Capacity(300), intratest.Fails(), intratest.MayKill(kills...))
			if report.Err != nil {
				require.ErrorIs(t, report.Err, intra.ErrLost)
				continue
			}
			requireSame(t, want, got, fmt.Sprintf("seed %d, kills %v", seed, kills))
			back += report.Rollbacks
		}
	}
	require.Positive(t, back)
}
