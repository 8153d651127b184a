package flow

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// slabs is the division of the cube among the ranks: planes of equal z and, in the other
// form, columns of equal y. In both forms points are stored by z, y and x.
type slabs struct {
	c      *comm.Comm
	n      int
	packed []State
}

// border is the number of neighbours' planes that a rank has on each side.
const border = 2

// own returns the bounds of the planes that belong to a rank. The bounds of its columns are
// the same.
func (s *slabs) own(rank int) (lo, hi int) {
	return rank * s.n / s.c.Size(), (rank + 1) * s.n / s.c.Size()
}

// seen returns the bounds of the planes that a rank has, including those of its neighbours.
func (s *slabs) seen(rank int) (lo, hi int) {
	lo, hi = s.own(rank)
	return max(0, lo-border), min(s.n, hi+border)
}

// toPlanes gives each rank the planes in seen.
func (s *slabs) toPlanes(columns, planes []State) error {
	me, width := s.c.Rank(), s.width(s.c.Rank())
	return s.exchange("planes", func(rank int) (send, recv []State) {
		lo, hi := s.seen(rank)
		return columns[lo*width : hi*width], s.space(rank, len(planes))
	}, func(rank int, came []State) {
		lo, hi := s.seen(me)
		s.pieces(planes, hi-lo, rank, func(piece []State) { came = came[copy(piece, came):] })
	})
}

// toColumns gives each rank its columns of the planes in own.
func (s *slabs) toColumns(planes, columns []State) error {
	me, width := s.c.Rank(), s.width(s.c.Rank())
	lo, hi := s.own(me)
	return s.exchange("columns", func(rank int) (send, recv []State) {
		send = s.space(rank, len(planes))
		packed := send
		s.pieces(planes, hi-lo, rank, func(piece []State) { packed = packed[copy(packed, piece):] })
		lo, hi := s.own(rank)
		return send, columns[lo*width : hi*width]
	}, func(int, []State) {})
}

// exchange exchanges parts with all ranks, and calls unpack for each part that was
// received.
func (s *slabs) exchange(what string, part func(rank int) (send, recv []State), unpack func(rank int, came []State)) error {
	send, recv := make([][]State, s.c.Size()), make([][]State, s.c.Size())
	for rank := range send {
		send[rank], recv[rank] = part(rank)
	}
	if err := comm.Alltoallv(s.c, send, recv); err != nil {
		return fmt.Errorf("exchange %s: %w", what, err)
	}
	for rank, came := range recv {
		unpack(rank, came)
	}
	return nil
}

// width returns the number of points of a plane in the columns of a rank.
func (s *slabs) width(rank int) int {
	lo, hi := s.own(rank)
	return (hi - lo) * s.n
}

// space returns memory for those points that are in the columns of a rank, of the given
// number of points in planes.
func (s *slabs) space(rank, points int) []State {
	if s.packed == nil {
		lo, hi := s.seen(s.c.Rank())
		s.packed = make([]State, (hi-lo)*s.n*s.n)
	}
	lo, hi := s.own(rank)
	line := points / s.n
	return s.packed[lo*line : hi*line]
}

// pieces calls f for the part of each of number planes that is in the columns of a rank.
func (s *slabs) pieces(planes []State, number, rank int, f func(piece []State)) {
	plane := s.n * s.n
	lo, hi := s.own(rank)
	for z := range number {
		f(planes[z*plane+lo*s.n : z*plane+hi*s.n])
	}
}
