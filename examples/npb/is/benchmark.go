package main

import (
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// iterations is the number of times that all keys are ranked.
const iterations = 10

// neighbourTag is the tag of the message with the largest key of a rank, for the next rank.
const neighbourTag = 1000

// benchmark is the whole run on one rank.
//
//intra:state skip(of, blocks, ordered, counts, totals, cuts, runs, bounds, space, ranks)
type benchmark struct {
	nas.Run
	of problem

	blocks  [][2]int // bounds of the blocks of keys, one per task
	ordered []int32  // the keys of each block by bucket
	counts  []int32  // for each block: the keys in each bucket

	totals []int32 // number of keys of all ranks in each bucket; then the values of the samples
	cuts   []int   // the first bucket of each rank, and the end

	// The rank's data after the exchange: the keys in its buckets. They are ordered by
	// bucket in several runs, one for each block of each rank.
	runs   [][]int32
	bounds []int32 // for each run: where its buckets begin, and the end
	space  exchange
	ranks  []int32 // rank of each value, beginning with the first value of the rank's buckets

	keys   []int32
	passed int
}

func newBenchmark(run nas.Run, of problem) (*benchmark, error) {
	if err := run.Set.Ranks("IS", run.P.Size(), 1<<of.buckets); err != nil {
		return nil, err
	}
	b := &benchmark{Run: run, of: of}
	n := 1 << of.keys / b.P.Size()
	for lo, hi := range intra.Blocks(n, b.Set.Tasks) {
		b.blocks = append(b.blocks, [2]int{lo, hi})
	}
	b.keys, b.ordered = intra.Alloc[int32](n), intra.Alloc[int32](n)
	b.counts = intra.Alloc[int32](len(b.blocks) << of.buckets)
	b.ranks = intra.Alloc[int32](1 << of.values)
	b.totals = make([]int32, 1<<of.buckets+len(of.samples))
	b.Protect(b.P, "is")
	return b, nil
}

// Measure carries out all iterations, and then tests the order. Before that it carries out
// one iteration that is not timed.
func (b *benchmark) Measure() (*result, error) {
	if err := b.Do(iterations, b.begin, b.iterate); err != nil {
		return nil, err
	}
	if err := b.testOrder(); err != nil {
		return nil, err
	}
	passed, err := comm.AllreduceValue(b.P.World(), b.passed, comm.Sum)
	if err != nil {
		return nil, fmt.Errorf("add up the tests that have passed: %w", err)
	}
	r := &result{Passed: passed}
	r.Verified = r.Passed == iterations*len(b.of.samples)+b.P.Size()
	return r, nil
}

// begin draws the keys, and ranks them once.
func (b *benchmark) begin() error {
	b.draw()
	err := b.rank(1)
	b.passed = 0
	return err
}

// iterate carries out the next iteration.
func (b *benchmark) iterate() error {
	b.Tell("iteration %3d\n", b.Done+1)
	return b.rank(b.Done + 1)
}

// rank computes the ranks of all keys.
func (b *benchmark) rank(iteration int) error {
	if b.P.Rank() == 0 {
		b.keys[iteration] = int32(iteration)
		b.keys[iteration+iterations] = int32(1<<b.of.values - iteration)
	}
	b.order()
	if err := b.count(); err != nil {
		return err
	}
	b.cuts = cut(b.totals[:1<<b.of.buckets], b.P.Size())
	if err := b.exchange(); err != nil {
		return err
	}
	b.rankOwn()
	for i, s := range b.of.samples {
		value := int(b.totals[1<<b.of.buckets+i])
		if at := value - b.lowest(); b.owns(value) && int(b.ranks[at]) == s.want(iteration) {
			b.passed++
		}
	}
	return nil
}

// count adds the counts of all blocks and ranks, and sends the values of the samples to all
// ranks.
func (b *benchmark) count() error {
	clear(b.totals)
	buckets := 1 << b.of.buckets
	for i, n := range b.counts {
		b.totals[i%buckets] += n
	}
	first := b.P.Rank() * len(b.keys)
	for i, s := range b.of.samples {
		if at := s.place - first; at >= 0 && at < len(b.keys) {
			b.totals[buckets+i] = b.keys[at]
		}
	}
	own := append([]int32(nil), b.totals...)
	if err := comm.Allreduce(b.P.World(), own, b.totals, comm.Sum); err != nil {
		return fmt.Errorf("add up the buckets: %w", err)
	}
	return nil
}

// cut divides buckets into parts runs with approximately equal numbers of keys: a run ends
// with the bucket in which its share is reached. It returns where the runs begin, and the
// end.
func cut(keys []int32, parts int) []int {
	all, sum := 0, 0
	for _, n := range keys {
		all += int(n)
	}
	starts := []int{0}
	for bucket, n := range keys {
		sum += int(n)
		if len(starts) < parts && sum >= len(starts)*all/parts {
			starts = append(starts, bucket+1)
		}
	}
	for len(starts) <= parts {
		starts = append(starts, len(keys))
	}
	return starts
}

// own returns the bounds of the rank's buckets.
func (b *benchmark) own() (lo, hi int) {
	return b.cuts[b.P.Rank()], b.cuts[b.P.Rank()+1]
}

// lowest returns the smallest value in the rank's buckets.
func (b *benchmark) lowest() int {
	lo, _ := b.own()
	return lo << b.of.shift()
}

// owns reports whether a value is in the rank's buckets.
func (b *benchmark) owns(value int) bool {
	lo, hi := b.own()
	return value>>b.of.shift() >= lo && value>>b.of.shift() < hi
}

// smaller returns the number of keys of all ranks in lower buckets.
func (b *benchmark) smaller(bucket int) (n int) {
	for _, keys := range b.totals[:bucket] {
		n += int(keys)
	}
	return n
}

// testOrder sorts the rank's keys by their ranks. It counts one test as passed if they are
// then in ascending order, beginning with the largest key of the previous rank.
func (b *benchmark) testOrder() error {
	lo, hi := b.own()
	first := b.smaller(lo)
	sorted := make([]int32, b.smaller(hi)-first)
	next := append([]int32(nil), b.ranks[:(hi-lo)<<b.of.shift()]...)
	for _, run := range b.runs {
		for _, key := range run {
			at := &next[int(key)-b.lowest()]
			sorted[int(*at)-first] = key
			*at++
		}
	}
	before := []int32{-1}
	c := b.P.World()
	if c.Rank() > 0 {
		if _, err := comm.Recv(c, before, c.Rank()-1, neighbourTag); err != nil {
			return fmt.Errorf("receive the largest key of the rank before: %w", err)
		}
	}
	ascend := true
	for _, key := range sorted {
		ascend = ascend && before[0] <= key
		before[0] = key
	}
	if ascend {
		b.passed++
	}
	if c.Rank() < c.Size()-1 {
		if err := comm.Send(c, before, c.Rank()+1, neighbourTag); err != nil {
			return fmt.Errorf("send the largest key: %w", err)
		}
	}
	return nil
}
