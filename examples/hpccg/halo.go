package main

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// haloTag is the tag of the messages with planes.
const haloTag = 99

// exchange fills the planes of the neighbours in v. As in the original it receives from any
// source. It stores each plane by its source, so the order of arrival does not matter.
func (b box) exchange(c *comm.Comm, v []float64, arrived [][]float64) error {
	plane := b.plane()
	var receives []*comm.Request
	var sends []*comm.Request
	if b.hasBelow() {
		receives = append(receives, comm.Irecv(c, arrived[0], comm.AnySource, haloTag))
	}
	if b.hasAbove() {
		receives = append(receives, comm.Irecv(c, arrived[len(receives)], comm.AnySource, haloTag))
	}
	if b.hasBelow() {
		sends = append(sends, comm.Isend(c, v[b.first():b.first()+plane], b.rank-1, haloTag))
	}
	if b.hasAbove() {
		sends = append(sends, comm.Isend(c, v[b.above()-plane:b.above()], b.rank+1, haloTag))
	}
	for i, r := range receives {
		status, err := r.Wait()
		if err != nil {
			return fmt.Errorf("receive a plane of a neighbour: %w", err)
		}
		to := 0
		if status.Source > b.rank {
			to = b.above()
		}
		copy(v[to:to+plane], arrived[i])
	}
	if err := comm.WaitAll(sends...); err != nil {
		return fmt.Errorf("send a plane to a neighbour: %w", err)
	}
	return nil
}
