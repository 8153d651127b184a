package main

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	intra "github.com/intrahpc/intra/runtime"
)

// logBatch is the size of a batch, in pairs, to base 2.
const logBatch = 16

// mostRounds is how many rounds a rank makes at most; between them is a safe point.
const mostRounds = 16

// benchmark is the whole run on one rank.
//
//intra:state skip(p, tasks, rounds)
type benchmark struct {
	p      *intra.Process
	tasks  int
	rounds [][2]int // the batches of each

	round   int
	sums    [2]float64
	counts  [annuli]int
	seconds nas.Seconds
}

// newBenchmark cuts the batches of 2^log pairs into those of each rank, and these
// into rounds with as many batches as there are tasks, or more.
func newBenchmark(p *intra.Process, set nas.Settings, log int) (*benchmark, error) {
	b := &benchmark{p: p, tasks: set.Tasks}
	batches := 1 << (log - logBatch)
	if p.Size() > batches {
		return nil, fmt.Errorf("%d ranks are too many: class %v has %d batches", p.Size(), set.Class, batches)
	}
	rank := 0
	for lo, hi := range intra.Blocks(batches, p.Size()) {
		if rank == p.Rank() {
			for first, end := range intra.Blocks(hi-lo, max(1, min(mostRounds, (hi-lo)/b.tasks))) {
				b.rounds = append(b.rounds, [2]int{lo + first, lo + end})
			}
		}
		rank++
	}
	b.Protect(p, "ep")
	return b, set.Protect(p)
}

// run does all rounds, or those that follow the saved state, and adds up what all
// ranks have found.
func (b *benchmark) run() error {
	if !b.p.Restored() {
		if err := nas.Gather(b.p); err != nil {
			return err
		}
	}
	for ; b.round < len(b.rounds); b.round++ {
		if err := b.p.SafePoint(); err != nil {
			return err
		}
		b.p.Progress(b.round, len(b.rounds))
		done := nas.Clock(&b.seconds)
		b.tally(b.rounds[b.round][0], b.rounds[b.round][1])
		done()
	}
	defer nas.Clock(&b.seconds)()
	var err error
	for k := range b.sums {
		if b.sums[k], err = comm.AllreduceValue(b.p.World(), b.sums[k], comm.Sum); err != nil {
			return fmt.Errorf("add up the sums: %w", err)
		}
	}
	own := b.counts
	if err := comm.Allreduce(b.p.World(), own[:], b.counts[:], comm.Sum); err != nil {
		return fmt.Errorf("add up the counts: %w", err)
	}
	return nil
}
