package main

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// toColumns gives each rank its columns.
func (b *benchmark) toColumns() error {
	if b.P.Size() == 1 {
		return nil
	}
	packed := b.packed
	b.pieces(func(piece []complex128) { packed = packed[copy(packed, piece):] })
	if err := comm.Alltoall(b.P.World(), b.packed, b.columns); err != nil {
		return fmt.Errorf("exchange planes for columns: %w", err)
	}
	return nil
}

// toPlanes gives each rank its planes.
func (b *benchmark) toPlanes() error {
	if b.P.Size() == 1 {
		return nil
	}
	if err := comm.Alltoall(b.P.World(), b.columns, b.packed); err != nil {
		return fmt.Errorf("exchange columns for planes: %w", err)
	}
	packed := b.packed
	b.pieces(func(piece []complex128) { packed = packed[copy(piece, packed):] })
	return nil
}

// pieces calls f for each part of the planes that belongs to the columns of one rank, rank
// after rank.
func (b *benchmark) pieces(f func(piece []complex128)) {
	plane, piece := b.of.nx*b.of.ny, b.of.nx*b.of.ny/b.P.Size()
	for rank := range b.P.Size() {
		for first := 0; first < len(b.planes); first += plane {
			f(b.planes[first+rank*piece:][:piece])
		}
	}
}
