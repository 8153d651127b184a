package kept

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// compare compares the results of a job with those of the plain sequential program.
func (j *job) compare() error {
	mem, lines := j.plain()
	for p := range j.all() {
		for _, i := range p.program().registeredArrays() {
			if !slices.Equal(p.mem[i], mem[p.rank][i]) {
				return fmt.Errorf("%v ends with %x in array %d, and not %x", p, p.mem[i], i, mem[p.rank][i])
			}
		}
		if !slices.Equal(j.truth[p.rank].lines, lines[p.rank]) {
			return fmt.Errorf("rank %d writes %x, and not %x", p.rank, j.truth[p.rank].lines, lines[p.rank])
		}
	}
	return nil
}

// plain runs the program without replicas, one operation after the other. A receive from
// any source gets the same message as in the job.
func (j *job) plain() (mem [][][]uint64, lines [][]uint64) {
	type sent struct {
		tag  int
		data []uint64
	}
	out := make(map[[2]stream][]*sent) // by stream from the source and stream to the destination, both in the context
	mem, lines = make([][][]uint64, len(j.prog.ranks)), make([][]uint64, len(j.prog.ranks))
	posted := make(map[int]func())
	onces := make([]uint64, len(j.prog.ranks))
	pc := make([]int, len(j.prog.ranks))
	for r := range mem {
		for _, n := range j.prog.ranks[r].sizes {
			mem[r] = append(mem[r], make([]uint64, n))
		}
	}
	// A receive takes the first message that matches. A receive may be posted before its
	// message is sent, so the two are matched by numbers.
	type key struct {
		from, to stream
		tag      int
	}
	takes := make(map[key]int)
	for _, r := range j.prog.order {
		o, own := &j.prog.ranks[r].ops[pc[r]], mem[r]
		pc[r]++
		switch o.kind {
		case section:
			for t := range o.tasks {
				o.tasks[t].body(own, own[0][0])
			}
			j.prog.ranks[r].fold(o, own)
		case send:
			k := [2]stream{{o.ctx, r}, {o.ctx, o.peer}}
			out[k] = append(out[k], &sent{tag: o.tag, data: slices.Clone(own[o.part.array][o.part.lo:o.part.hi])})
		case post:
			into := own[o.part.array][o.part.lo:o.part.hi]
			if o.peer < 0 {
				c := j.truth[r].decisions[o.id]
				posted[o.id] = func() { copy(into, out[[2]stream{{o.ctx, c.source}, {o.ctx, r}}][c.number].data) }
				continue
			}
			k := key{stream{o.ctx, o.peer}, stream{o.ctx, r}, o.tag}
			n := takes[k]
			takes[k]++
			posted[o.id] = func() {
				for _, m := range out[[2]stream{k.from, k.to}] {
					if m.tag != o.tag {
						continue
					}
					if n == 0 {
						copy(into, m.data)
						return
					}
					n--
				}
				panic("the oracle waits for a message that no rank sends before")
			}
		case waitReceive:
			posted[o.id]()
		case fetch:
			for _, w := range own[o.part.array][o.part.lo:o.part.hi] {
				own[0][1] = mix(own[0][1], w)
			}
		case line:
			lines[r] = append(lines[r], mix(own[0][0], own[0][1]))
		case once:
			own[0][1] = mix(own[0][1], j.truth[r].once[onces[r]])
			onces[r]++
		}
	}
	return mem, lines
}

// TestSchedules runs random programs with the machines of both replicas. Replicas die, run
// again and join. The results are those of the plain program.
func TestSchedules(t *testing.T) {
	var mu sync.Mutex
	var all seen
	n := simseed.Search(t, 2000, func(seed uint64) error {
		j := newJob(seed)
		err := j.run()
		mu.Lock()
		defer mu.Unlock()
		all.deaths += j.seen.deaths
		all.seconds += j.seen.seconds
		all.joins += j.seen.joins
		all.rollbacks += j.seen.rollbacks
		all.missed += j.seen.missed
		return err
	})
	if n >= 1000 {
		t.Logf("%d jobs: %d deaths, %d second runs, %d joins, %d rollbacks, %d missed cuts", n, all.deaths, all.seconds, all.joins, all.rollbacks, all.missed)
		require.Greater(t, all.deaths, int(n)*3/4, "too few deaths")
		require.Greater(t, all.seconds, int(n)/5, "too few second runs")
		require.Greater(t, all.joins, int(n)/50, "too few joins")
		require.Greater(t, all.rollbacks, int(n)/50, "too few rollbacks")
		require.Positive(t, all.missed, "no replica has passed a cut without its sibling")
	}
}
