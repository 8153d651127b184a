package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/comm"
)

// ghost is an unknown of another rank, with its number there.
type ghost struct{ rank, index int32 }

func (g ghost) compare(h ghost) int {
	return cmp.Or(cmp.Compare(g.rank, h.rank), cmp.Compare(g.index, h.index))
}

// halo lists the unknowns of a level that are sent to the neighbours, and those that are received.
// Received unknowns follow the rank's own ones, ordered by rank and number. Matrices are symmetric,
// so if a rank needs unknowns of a neighbour, the neighbour also needs some of the rank.
//
//intra:state
type halo struct {
	ranks []int32 // the neighbours
	give  []int32 // own unknowns that the neighbours need, neighbour by neighbour
	gives []int32 // where the unknowns for each neighbour begin in give, and the end
	takes []int32 // where the received unknowns of each neighbour begin, and the end
}

// Tags of messages.
const (
	tagCount = iota
	tagList
	tagValues
	tagColumns
)

// newHalo sends each neighbour the list of its unknowns that are needed here.
func newHalo(c *comm.Comm, ghosts []ghost) (halo, error) {
	h := halo{gives: []int32{0}, takes: []int32{0}}
	need := make([]int32, len(ghosts))
	for i, g := range ghosts {
		if i == 0 || g.rank != ghosts[i-1].rank {
			h.ranks = append(h.ranks, g.rank)
			h.takes = append(h.takes, int32(i))
		}
		h.takes[len(h.takes)-1] = int32(i + 1)
		need[i] = g.index
	}
	counts := make([]int32, 2*len(h.ranks))
	var requests []*comm.Request
	for k, rank := range h.ranks {
		counts[2*k] = h.takes[k+1] - h.takes[k]
		requests = append(requests, comm.Isend(c, counts[2*k:2*k+1], int(rank), tagCount), comm.Irecv(c, counts[2*k+1:2*k+2], int(rank), tagCount))
	}
	if err := comm.WaitAll(requests...); err != nil {
		return h, fmt.Errorf("tell the neighbours how much is needed: %w", err)
	}
	for k := range h.ranks {
		h.gives = append(h.gives, h.gives[k]+counts[2*k+1])
	}
	h.give = make([]int32, h.gives[len(h.ranks)])
	requests = requests[:0]
	for k, rank := range h.ranks {
		requests = append(requests, comm.Isend(c, need[h.takes[k]:h.takes[k+1]], int(rank), tagList),
			comm.Irecv(c, h.give[h.gives[k]:h.gives[k+1]], int(rank), tagList))
	}
	if err := comm.WaitAll(requests...); err != nil {
		return h, fmt.Errorf("tell the neighbours what is needed: %w", err)
	}
	return h, nil
}

// size returns the number of unknowns that are received.
func (h *halo) size() int { return int(h.takes[len(h.takes)-1]) }

// exchange fills in the last elements of x, which belong to other ranks.
func exchange[T any](c *comm.Comm, h *halo, x []T) error {
	var requests []*comm.Request
	from := x[len(x)-h.size():]
	for k, rank := range h.ranks {
		requests = append(requests, comm.Irecv(c, from[h.takes[k]:h.takes[k+1]], int(rank), tagValues))
	}
	packed := make([]T, len(h.give))
	for i, at := range h.give {
		packed[i] = x[at]
	}
	for k, rank := range h.ranks {
		requests = append(requests, comm.Isend(c, packed[h.gives[k]:h.gives[k+1]], int(rank), tagValues))
	}
	if err := comm.WaitAll(requests...); err != nil {
		return fmt.Errorf("exchange values with the neighbours: %w", err)
	}
	return nil
}

// exchangeRows appends to p the rows of unknowns of other ranks. It returns the result, and
// the unknowns of other ranks that its columns stand for. In p these columns follow the
// rank's own ones, too.
func exchangeRows(c *comm.Comm, h *halo, p *sparse) (*sparse, []ghost, error) {
	if len(h.ranks) == 0 {
		return p, nil, nil
	}
	own := p.rows()
	length := make([]int32, own+h.size())
	for i := range own {
		length[i] = int32(p.ptr[i+1] - p.ptr[i])
	}
	if err := exchange(c, h, length); err != nil {
		return nil, nil, err
	}
	all := &sparse{cols: p.cols, ptr: append([]int64(nil), p.ptr...)}
	for _, n := range length[own:] {
		all.ptr = append(all.ptr, all.ptr[len(all.ptr)-1]+int64(n))
	}
	all.col, all.val = make([]int32, all.ptr[len(length)]), make([]float64, all.ptr[len(length)])
	copy(all.col, p.col)
	copy(all.val, p.val)
	var requests []*comm.Request
	for k, rank := range h.ranks {
		var col []int32
		var val []float64
		for _, i := range h.give[h.gives[k]:h.gives[k+1]] {
			c, v := p.row(int(i))
			col, val = append(col, c...), append(val, v...)
		}
		lo, hi := all.ptr[own+int(h.takes[k])], all.ptr[own+int(h.takes[k+1])]
		requests = append(requests,
			comm.Irecv(c, all.col[lo:hi], int(rank), tagColumns), comm.Irecv(c, all.val[lo:hi], int(rank), tagValues),
			comm.Isend(c, col, int(rank), tagColumns), comm.Isend(c, val, int(rank), tagValues))
	}
	if err := comm.WaitAll(requests...); err != nil {
		return nil, nil, fmt.Errorf("exchange rows with the neighbours: %w", err)
	}
	return all, all.renumber(h, own), nil
}

// renumber gives new numbers to the columns in rows of other ranks, beginning with row own. The new
// numbers follow the rank's own ones. renumber returns the unknowns that these columns stand for.
func (s *sparse) renumber(h *halo, own int) (ghosts []ghost) {
	for k, rank := range h.ranks {
		lo, hi := s.ptr[own+int(h.takes[k])], s.ptr[own+int(h.takes[k+1])]
		place := make(map[int32]int32)
		for _, c := range slices.Compact(slices.Sorted(slices.Values(s.col[lo:hi]))) {
			place[c] = int32(s.cols)
			ghosts = append(ghosts, ghost{rank, c})
			s.cols++
		}
		for i, c := range s.col[lo:hi] {
			s.col[lo+int64(i)] = place[c]
		}
	}
	return ghosts
}
