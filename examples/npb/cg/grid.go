package main

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/kernels"
)

// Tags of messages within a row of the grid count from rowTag. Messages across the diagonal
// have diagonalTag.
const (
	rowTag      = 1
	diagonalTag = 100
)

// grid holds the position of a rank in the grid of ranks, and its block of a matrix of n
// rows.
type grid struct {
	c          *comm.Comm
	rows, cols int // numbers of rows and columns of ranks; cols is rows or twice as many
	row, col   int
	n          int
	spare      []float64 // memory for a partner's message
}

// newGrid arranges the ranks in a grid. Their number must be a power of two.
func newGrid(c *comm.Comm, n int) *grid {
	g := &grid{c: c, rows: 1, cols: 1, n: n}
	for g.rows*g.cols < c.Size() {
		if g.cols == g.rows {
			g.cols *= 2
		} else {
			g.rows *= 2
		}
	}
	g.row, g.col = c.Rank()/g.cols, c.Rank()%g.cols
	g.spare = make([]float64, g.height())
	return g
}

// mostRanks returns the maximum number of ranks for a matrix of n rows: all ranks must get
// the same number of columns.
func mostRanks(n int) int {
	cols := n & -n
	return cols * cols
}

// height and width are the rows and columns of the rank's block.
func (g *grid) height() int { return g.n / g.rows }
func (g *grid) width() int  { return g.n / g.cols }

// rank returns the rank at a position of the grid.
func (g *grid) rank(row, col int) int { return row*g.cols + col }

// swap sends x to a partner and returns the values that the partner sends.
func (g *grid) swap(x []float64, length, partner, tag int) ([]float64, error) {
	came := g.spare[:length]
	r := comm.Irecv(g.c, came, partner, tag)
	if err := comm.Send(g.c, x, partner, tag); err != nil {
		return nil, err
	}
	_, err := r.Wait()
	return came, err
}

// combine adds the products of the blocks of a row of the grid, which are in w. It sets y
// to the part of the sum that belongs to the rank's columns.
func (g *grid) combine(w, y []float64) error {
	part, step := w, 1
	if g.cols > g.rows {
		// Half of the rows suffice here: the neighbour handles the other half.
		half := g.col % 2
		part = w[half*len(y) : (half+1)*len(y)]
		came, err := g.swap(w[(1-half)*len(y):(2-half)*len(y)], len(y), g.rank(g.row, g.col^1), rowTag)
		if err != nil {
			return fmt.Errorf("add up a product: %w", err)
		}
		kernels.Axpy(1, came, part)
		step = 2
	}
	for ; step < g.cols; step *= 2 {
		came, err := g.swap(part, len(part), g.rank(g.row, g.col^step), rowTag+step)
		if err != nil {
			return fmt.Errorf("add up a product: %w", err)
		}
		kernels.Axpy(1, came, part)
	}
	partner := g.mirror()
	if partner == g.c.Rank() {
		copy(y, part)
		return nil
	}
	came, err := g.swap(part, len(y), partner, diagonalTag)
	if err != nil {
		return fmt.Errorf("exchange a product across the diagonal: %w", err)
	}
	copy(y, came)
	return nil
}

// mirror returns the rank on the other side of the diagonal. The sums of one of the two are
// the columns of the other.
func (g *grid) mirror() int {
	if g.cols == g.rows {
		return g.rank(g.col, g.row)
	}
	return g.rank(g.col/2, 2*g.row+g.col%2)
}

// sum returns sums over a row of the grid, which has all columns. All rows get the same
// bits.
func (g *grid) sum(x ...float64) ([]float64, error) {
	for step := 1; step < g.cols; step *= 2 {
		came, err := g.swap(x, len(x), g.rank(g.row, g.col^step), rowTag+step)
		if err != nil {
			return nil, fmt.Errorf("add up an inner product: %w", err)
		}
		for i, v := range came {
			x[i] += v
		}
	}
	return x, nil
}
