package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/comm/commtest"
	"github.com/intrahpc/intra/internal/seeds"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/transport/sdr/sdrtest"
)

// schedule is a random program in a random job with random deaths.
type schedule struct {
	seed    uint64
	job     sdrtest.Job
	length  int // of the program, in steps
	options options
}

// counts bounds, for each point, how often it is passed before a death there.
var counts = map[sdrtest.Point]int{
	sdrtest.AtStep: 1000, sdrtest.AtFrame: 80, sdrtest.AtMessage: 25,
	sdrtest.AtSection: 4, sdrtest.AtTask: 12, sdrtest.AtUpdate: 12,
}

func newSchedule(seed uint64) schedule {
	random := rand.New(rand.NewPCG(seed, 1))
	ranks := 1 + random.IntN(6)
	s := schedule{seed: seed, length: 1 + random.IntN(6)}
	s.job = sdrtest.Job{Seed: seed, Mirror: random.IntN(8) == 0}
	limits := []sdr.Limits{{Eager: 256, Window: 4000, Retain: 3000}, {Eager: 1024, Window: 2000, Retain: 20000}, {}}
	s.job.Limits = limits[random.IntN(len(limits))]
	for range ranks {
		s.job.Degrees = append(s.job.Degrees, []int{1, 2, 2, 2, 3, 4}[random.IntN(6)])
	}
	if random.IntN(2) == 0 { // one replica of every rank is far behind
		s.job.Lag = make([]int, 4)
		s.job.Lag[random.IntN(3)] = 1 << (2 + random.IntN(4))
	}
	for range random.IntN(5) {
		rank := random.IntN(ranks)
		k := sdrtest.Kill{Rank: rank, Replica: random.IntN(s.job.Degrees[rank]), Point: sdrtest.Point(random.IntN(len(counts)))}
		k.Count = random.IntN(counts[k.Point])
		s.job.Kills = append(s.job.Kills, k)
	}
	s.options = options{
		inPlace:  random.IntN(2) == 0,
		inbox:    []int64{1 << 20, 1000, 0}[random.IntN(3)],
		patience: time.Duration(random.IntN(200)) * time.Microsecond,
	}
	return s
}

// run runs the program in a job and returns what every process observed that
// returned from it.
func (s schedule) run(job sdrtest.Job) (map[*sdrtest.Process]uint64, *sdrtest.Result, error) {
	replicas := make(map[*sdrtest.Process]*replica)
	job.Layer = func(p *sdrtest.Process) sdrtest.Layer {
		replicas[p] = newReplica(p, job.Degrees[p.Rank], s.seed, &s.options)
		return replicas[p]
	}
	observed := make(map[*sdrtest.Process]uint64)
	res, err := job.Run(func(p *sdrtest.Process) error {
		c, err := comm.World(p.Engine)
		if err != nil {
			return err
		}
		r := replicas[p]
		sum, err := commtest.Run(c, s.seed, s.length, newRank(r).steps()...)
		if err != nil {
			return err
		}
		observed[p] = sum
		return r.finish()
	})
	if err == nil {
		err = res.Err()
	}
	return observed, res, err
}

// check runs the schedule and compares what every rank observed with the run
// of the same program without replicas.
func (s schedule) check() (*sdrtest.Result, error) {
	plain := sdrtest.Job{Seed: s.seed, Limits: s.job.Limits, Degrees: slices.Repeat([]int{1}, len(s.job.Degrees))}
	alone, res, err := s.run(plain)
	if err != nil {
		return nil, fmt.Errorf("without replicas: %w", err)
	}
	want := make([]uint64, len(plain.Degrees))
	for _, p := range res.Processes {
		want[p.Rank] = alone[p]
	}
	got, res, err := s.run(s.job)
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", s.seed, err)
	}
	for _, p := range res.Processes {
		if sum, ok := got[p]; ok && sum != want[p.Rank] {
			return nil, fmt.Errorf("seed %d, degrees %v, kills %v: %v observed something else than the unreplicated rank", s.seed, s.job.Degrees, s.job.Kills, p)
		}
	}
	return res, nil
}

// TestSimulation runs 10,000 schedules. INTRA_SOAK=N runs N, INTRA_SEED=S only
// the one with seed S.
func TestSimulation(t *testing.T) {
	usual := uint64(10_000)
	if testing.Short() {
		usual = 500
	}
	var mu sync.Mutex
	deaths := make([]int, len(counts))
	n := seeds.Search(t, usual, func(seed uint64) error {
		res, err := newSchedule(seed).check()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for at := range deaths {
			deaths[at] += res.FiredAt[at]
		}
		return nil
	})
	if n >= 500 {
		for at, d := range deaths {
			t.Logf("deaths at %v: %d", sdrtest.Point(at), d)
			require.Greater(t, d, int(n)/50, "too few deaths at %v to mean anything", sdrtest.Point(at))
		}
	}
}
