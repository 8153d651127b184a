package comm_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
	"github.com/intrahpc/intra/internal/testkit/simseed"
	"github.com/intrahpc/intra/transport/sdr"
)

// The simulation of recovery runs random programs with safe points in random jobs. Cuts are
// taken at random times. Dead replicas are replaced at cuts. Ranks that lose all their
// replicas roll back to a cut, while more processes die. Every rank must observe the same
// as in a run without replicas and deaths.

// loop is a random program. Its state is the number of the iteration and the sum of all
// observations.
type loop struct {
	seed       uint64
	iterations int

	world, traffic *comm.Comm
	teams          []*comm.Comm            // iterations use them in turn; nil at ranks that are not members
	extra          *comm.Comm              // exists only in the iterations from extraFrom to extraTo
	pending        map[int][]*comm.Request // sends of each iteration
	sum            uint64
}

const extraFrom, extraTo = 2, 4

// make creates the communicators that a process has at the safe point of an iteration, as
// if the process had run up to that point.
func (l *loop) make(p *sdrtest.Process, iteration int) error {
	var err error
	keep := func(c *comm.Comm, e error) *comm.Comm {
		if err == nil {
			err = e
		}
		return c
	}
	if l.world, err = comm.World(p.Engine); err != nil {
		return err
	}
	l.traffic = keep(l.world.Dup())
	half := keep(l.world.Split(p.Rank%2, -p.Rank))
	color := 0
	if p.Rank%3 == 2 {
		color = comm.Undefined
	}
	some := keep(l.world.Split(color, 0))
	if err != nil {
		return err
	}
	first, err := l.world.Group().Include(0)
	if err != nil {
		return err
	}
	var alone *comm.Comm
	if p.Rank == 0 {
		alone = keep(l.world.CreateGroup(first, 7))
	}
	step := keep(l.world.Dup())
	if err != nil {
		return err
	}
	deep := keep(step.Split(0, 0)) // its parent is freed before the first safe point
	if err == nil {
		err = step.Free()
	}
	l.teams = []*comm.Comm{l.world, half, some, alone, deep}
	if iteration > extraFrom && iteration <= extraTo {
		l.extra = keep(l.world.Dup())
	}
	return err
}

// message is one of the messages that an iteration sends in addition to its steps. It is
// received one or two iterations later, after a safe point.
type message struct{ from, to, size, tag int }

func (l *loop) messages(iteration int) (list []message) {
	plan := rand.New(rand.NewPCG(l.seed, uint64(iteration)+1000))
	n := l.world.Size()
	for range plan.IntN(4 * n) {
		list = append(list, message{
			from: plan.IntN(n), to: plan.IntN(n), size: []int{1, 3, 40, 200, 400}[plan.IntN(5)],
			tag: 2*iteration + plan.IntN(2),
		})
	}
	return list
}

func (l *loop) send(iteration int) {
	for i, m := range l.messages(iteration) {
		if m.from == l.world.Rank() {
			buf := make([]uint64, m.size)
			for k := range buf {
				buf[k] = uint64(m.tag*1000+i)<<20 + uint64(k)
			}
			l.pending[iteration] = append(l.pending[iteration], comm.Isend(l.traffic, buf, m.to, m.tag))
		}
	}
}

// receive receives the messages of an iteration with one of its tags. It receives them by
// source, or from any source in order of arrival.
func (l *loop) receive(iteration, late int) error {
	if iteration < 0 {
		return nil
	}
	tag, bySource := 2*iteration+late, (l.seed+uint64(iteration))%2 == 0
	list := l.messages(iteration)
	next := make([]int, l.world.Size()) // place in list of the next message of each source
	find := func(from int) int {
		for i := next[from]; i < len(list); i++ {
			if m := list[i]; m.from == from && m.to == l.world.Rank() && m.tag == tag {
				return i
			}
		}
		return -1
	}
	for _, m := range list {
		if m.to != l.world.Rank() || m.tag != tag {
			continue
		}
		src := comm.AnySource
		if bySource {
			src = m.from
		} else if m.size%2 == 0 {
			st, err := l.traffic.Probe(src, tag)
			if err != nil {
				return err
			}
			src = st.Source
		}
		buf := make([]uint64, 400)
		st, err := comm.Recv(l.traffic, buf, src, tag)
		if err != nil {
			return err
		}
		i := find(st.Source)
		if i < 0 || st.Count != list[i].size {
			return fmt.Errorf("message of %d words from rank %d with tag %d is not the next", st.Count, st.Source, tag)
		}
		next[st.Source] = i + 1
		for k, v := range buf[:st.Count] {
			if v != uint64(tag*1000+i)<<20+uint64(k) {
				return fmt.Errorf("message %d from rank %d with tag %d: word %d is %x", i, st.Source, tag, k, v)
			}
			l.sum += v * uint64(st.Source+1)
		}
	}
	return nil
}

func (l *loop) iterate(iteration int) error {
	if err := comm.WaitAll(l.pending[iteration-3]...); err != nil {
		return err
	}
	delete(l.pending, iteration-3)
	if err := l.receive(iteration-1, 0); err != nil {
		return err
	}
	if err := l.receive(iteration-2, 1); err != nil {
		return err
	}
	var err error
	if iteration == extraFrom {
		if l.extra, err = l.world.Dup(); err != nil {
			return err
		}
	}
	team := l.teams[(int(l.seed%5)+iteration)%len(l.teams)]
	if l.extra != nil {
		team = l.extra
	}
	if team != nil {
		sum, err := commtest.Run(team, l.seed+uint64(iteration), 1)
		if err != nil {
			return err
		}
		l.sum = (l.sum^sum)*0x9e3779b97f4a7c15 + uint64(iteration)
	}
	if iteration == extraTo {
		if err := l.extra.Free(); err != nil {
			return err
		}
		l.extra = nil
	}
	l.send(iteration)
	return nil
}

// run is the program of one process.
func (l *loop) run(p *sdrtest.Process) (uint64, error) {
	begin := 0
	if s := p.State(); s != nil {
		begin, l.sum = int(binary.LittleEndian.Uint64(s)), binary.LittleEndian.Uint64(s[8:])
	}
	if err := l.make(p, begin); err != nil {
		return 0, err
	}
	for i := begin; i < l.iterations; i++ {
		err := p.SafePoint(func() []byte {
			return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(i)), l.sum)
		})
		if err == nil {
			err = l.iterate(i)
		}
		if err != nil {
			return 0, fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	for _, rest := range [][2]int{{l.iterations - 1, 0}, {l.iterations - 2, 1}, {l.iterations - 1, 1}} {
		if err := l.receive(rest[0], rest[1]); err != nil {
			return 0, err
		}
	}
	for _, reqs := range l.pending {
		if err := comm.WaitAll(reqs...); err != nil {
			return 0, err
		}
	}
	return l.sum, nil
}

// trial is a random program in a random job with random cuts and deaths.
type trial struct {
	job        sdrtest.Job
	iterations int
}

func newTrial(seed uint64) trial {
	random := rand.New(rand.NewPCG(seed, 3))
	ranks := 1 + random.IntN(5)
	t := trial{iterations: 4 + random.IntN(9)}
	t.job = sdrtest.Job{Seed: seed, Mirror: random.IntN(10) == 0, Recovery: &sdrtest.Recovery{Cuts: 10, Rare: []int{5, 30, 150}[random.IntN(3)]}}
	limits := []sdr.Limits{{Eager: 256, Window: 4000, Retain: 20000, Detach: 5000}, {Eager: 1024, Window: 2000, Retain: 40000}, {}}
	t.job.Limits = limits[random.IntN(len(limits))]
	for range ranks {
		t.job.Degrees = append(t.job.Degrees, []int{1, 2, 2, 3, 4}[random.IntN(5)])
	}
	if random.IntN(3) == 0 { // one replica of every rank is far behind
		t.job.Lag = make([]int, 4)
		t.job.Lag[random.IntN(3)] = 1 << (2 + random.IntN(4))
	}
	counts := map[sdrtest.Point]int{sdrtest.AtStep: 4000, sdrtest.AtFrame: 150, sdrtest.AtMessage: 60, sdrtest.AtCut: 14}
	for range random.IntN(9) {
		rank := random.IntN(ranks)
		k := sdrtest.Kill{Rank: rank, Replica: random.IntN(t.job.Degrees[rank])}
		k.Point = []sdrtest.Point{sdrtest.AtStep, sdrtest.AtFrame, sdrtest.AtMessage, sdrtest.AtCut, sdrtest.AtCut}[random.IntN(5)]
		k.Count = random.IntN(counts[k.Point])
		t.job.Kills = append(t.job.Kills, k)
	}
	return t
}

func (t trial) run(job sdrtest.Job) (map[*sdrtest.Process]uint64, *sdrtest.Result, error) {
	sums := make(map[*sdrtest.Process]uint64)
	res, err := job.Run(func(p *sdrtest.Process) error {
		l := &loop{seed: job.Seed, iterations: t.iterations, pending: make(map[int][]*comm.Request)}
		sum, err := l.run(p)
		if err == nil {
			sums[p] = sum
		}
		return err
	})
	if err == nil {
		err = res.Err()
	}
	return sums, res, err
}

func (t trial) check() (*sdrtest.Result, error) {
	plain := sdrtest.Job{Seed: t.job.Seed, Limits: t.job.Limits, Degrees: slices.Repeat([]int{1}, len(t.job.Degrees)),
		Recovery: &sdrtest.Recovery{}}
	alone, res, err := t.run(plain)
	if err != nil {
		return nil, fmt.Errorf("without replicas: %w", err)
	}
	want := make([]uint64, len(plain.Degrees))
	for _, p := range res.Processes {
		want[p.Rank] = alone[p]
	}
	got, res, err := t.run(t.job)
	if err != nil {
		return nil, fmt.Errorf("degrees %v, kills %v: %w", t.job.Degrees, t.job.Kills, err)
	}
	for _, p := range res.Processes {
		if sum, ok := got[p]; ok && !p.Killed && sum != want[p.Rank] {
			return nil, fmt.Errorf("degrees %v, kills %v: %v observed something else than the unreplicated rank", t.job.Degrees, t.job.Kills, p)
		}
	}
	return res, nil
}

func TestRecovery(t *testing.T) {
	runTrials(t, func(seed uint64) (*sdrtest.Result, error) { return newTrial(seed).check() })
}

// runTrials runs 150 trials. INTRA_SOAK=N runs N, and INTRA_SEED=S only the one with seed
// S. It fails if the trials have too few deaths and cuts for a meaningful test.
func runTrials(t *testing.T, check func(seed uint64) (*sdrtest.Result, error)) uint64 {
	var mu sync.Mutex
	var total sdrtest.Result
	n := simseed.Search(t, 150, func(seed uint64) error {
		res, err := check(seed)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		total.Fired += res.Fired
		total.Cuts += res.Cuts
		total.Cancelled += res.Cancelled
		total.Joined += res.Joined
		total.Rollbacks += res.Rollbacks
		return nil
	})
	if n >= 150 {
		t.Logf("%d deaths, %d cuts, %d cancelled, %d replicas back, %d rollbacks", total.Fired, total.Cuts, total.Cancelled, total.Joined, total.Rollbacks)
		for _, happened := range []int{total.Fired, total.Cuts, total.Joined, total.Cancelled, total.Rollbacks} {
			require.Greater(t, happened, int(n)/20, "too few of them for a meaningful test")
		}
	}
	return n
}
