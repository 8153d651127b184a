package main

import (
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// logBatch is the binary logarithm of the number of pairs in a batch.
const logBatch = 16

// mostRounds is the maximum number of rounds of a rank. There is a safe point between two
// rounds.
const mostRounds = 16

// benchmark is the whole run on one rank.
//
//intra:state skip(of, rounds)
type benchmark struct {
	nas.Run
	of     problem
	rounds [][2]int // bounds of the batches of each round

	sums   [2]float64
	counts [annuli]int
}

// newBenchmark divides the batches of all pairs among the ranks, and those of each rank
// into rounds. A round has at least as many batches as there are tasks.
func newBenchmark(run nas.Run, of problem) (*benchmark, error) {
	b := &benchmark{Run: run, of: of}
	batches := 1 << (of.log - logBatch)
	if b.P.Size() > batches {
		return nil, fmt.Errorf("%d ranks are too many: class %v has %d batches", b.P.Size(), b.Set.Class, batches)
	}
	rank := 0
	for lo, hi := range intra.Blocks(batches, b.P.Size()) {
		if rank == b.P.Rank() {
			for first, end := range intra.Blocks(hi-lo, max(1, min(mostRounds, (hi-lo)/b.Set.Tasks))) {
				b.rounds = append(b.rounds, [2]int{lo + first, lo + end})
			}
		}
		rank++
	}
	b.Protect(b.P, "ep")
	return b, nil
}

// Measure carries out all rounds, and adds the results of all ranks.
func (b *benchmark) Measure() (*result, error) {
	if err := b.Do(len(b.rounds), b.begin, b.tallyRound); err != nil {
		return nil, err
	}
	if err := b.addUp(); err != nil {
		return nil, err
	}
	r := &result{SX: b.sums[0], SY: b.sums[1], Counts: b.counts}
	for _, n := range r.Counts {
		r.Pairs += n
	}
	r.Verified = nas.Close(r.SX, b.of.sums[0], tolerance) && nas.Close(r.SY, b.of.sums[1], tolerance)
	return r, nil
}

func (b *benchmark) begin() error { return nil }

// tallyRound carries out the next round.
func (b *benchmark) tallyRound() error {
	b.tally(b.rounds[b.Done][0], b.rounds[b.Done][1])
	return nil
}

// addUp adds the results of all ranks.
func (b *benchmark) addUp() error {
	defer nas.Clock(&b.Seconds)()
	var err error
	for k := range b.sums {
		if b.sums[k], err = comm.AllreduceValue(b.P.World(), b.sums[k], comm.Sum); err != nil {
			return fmt.Errorf("add up the sums: %w", err)
		}
	}
	own := b.counts
	if err := comm.Allreduce(b.P.World(), own[:], b.counts[:], comm.Sum); err != nil {
		return fmt.Errorf("add up the counts: %w", err)
	}
	return nil
}
