package main

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/comm"
)

// exchange is memory for the messages that are sent and received.
type exchange struct {
	sendCounts, counts []int32
	sendKeys, keys     []int32
}

// exchange gives each rank the keys in its buckets, in runs. It first exchanges the number
// of keys of every block in each bucket, and then the keys. Keys that remain on a rank are
// not copied.
func (b *benchmark) exchange() error {
	c, s := b.P.World(), &b.space
	me, size, blocks, buckets := c.Rank(), c.Size(), len(b.blocks), 1<<b.of.buckets
	lo, hi := b.own()

	s.sendCounts, s.sendKeys = s.sendCounts[:0], s.sendKeys[:0]
	var countsTo, keysTo [][2]int // bounds of the parts for each rank
	for rank := range size {
		fromCounts, fromKeys := len(s.sendCounts), len(s.sendKeys)
		for t := range blocks {
			if rank == me {
				break
			}
			counts := b.counts[t*buckets:][:buckets]
			s.sendCounts = append(s.sendCounts, counts[b.cuts[rank]:b.cuts[rank+1]]...)
			first := b.blocks[t][0] + total(counts[:b.cuts[rank]])
			s.sendKeys = append(s.sendKeys, b.ordered[first:][:total(counts[b.cuts[rank]:b.cuts[rank+1]])]...)
		}
		countsTo, keysTo = append(countsTo, [2]int{fromCounts, len(s.sendCounts)}), append(keysTo, [2]int{fromKeys, len(s.sendKeys)})
	}
	s.counts = slices.Grow(s.counts[:0], size*blocks*(hi-lo))[:size*blocks*(hi-lo)]
	send, recv := make([][]int32, size), make([][]int32, size)
	for rank := range size {
		if rank != me {
			send[rank] = s.sendCounts[countsTo[rank][0]:countsTo[rank][1]]
			recv[rank] = s.counts[rank*blocks*(hi-lo):][:blocks*(hi-lo)]
		}
	}
	if err := comm.Alltoallv(c, send, recv); err != nil {
		return fmt.Errorf("exchange the numbers of keys: %w", err)
	}
	for t := range blocks {
		copy(s.counts[(me*blocks+t)*(hi-lo):], b.counts[t*buckets+lo:t*buckets+hi])
	}

	most := b.smaller(hi) - b.smaller(lo)
	s.keys = slices.Grow(s.keys[:0], most)[:most]
	at := 0
	for rank := range size {
		if rank != me {
			n := total(s.counts[rank*blocks*(hi-lo):][:blocks*(hi-lo)])
			send[rank] = s.sendKeys[keysTo[rank][0]:keysTo[rank][1]]
			recv[rank] = s.keys[at:][:n]
			at += n
		}
	}
	if err := comm.Alltoallv(c, send, recv); err != nil {
		return fmt.Errorf("exchange the keys: %w", err)
	}

	b.runs, b.bounds = b.runs[:0], b.bounds[:0]
	for rank := range size {
		came := recv[rank]
		for t := range blocks {
			counts := s.counts[(rank*blocks+t)*(hi-lo):][:hi-lo]
			n := total(counts)
			if rank == me {
				came = b.ordered[b.blocks[t][0]+total(b.counts[t*buckets:][:lo]):]
			}
			b.runs = append(b.runs, came[:n])
			came = came[n:]
			bound := int32(0)
			for _, keys := range counts {
				b.bounds = append(b.bounds, bound)
				bound += keys
			}
			b.bounds = append(b.bounds, bound)
		}
	}
	return nil
}

// total returns the sum of numbers of keys.
func total(counts []int32) (sum int) {
	for _, n := range counts {
		sum += int(n)
	}
	return sum
}
