package kernels

import "fmt"

// reachRows is the number of rows of a block for which a matrix knows its columns.
const reachRows = 64

// reach knows which columns the rows of a matrix have.
type reach struct {
	blocks []columns // one for each reachRows rows
}

// columns are the columns from first to end-1. There are none if end is 0.
type columns struct{ first, end int }

func (c *columns) add(d columns) {
	switch {
	case d.end == 0:
	case c.end == 0:
		*c = d
	default:
		c.first, c.end = min(c.first, d.first), max(c.end, d.end)
	}
}

// columnsOf returns the columns of entries.
func columnsOf[I Index](col []I) columns {
	if len(col) == 0 {
		return columns{}
	}
	low, high := col[0], col[0]
	for _, c := range col[1:] {
		low, high = min(low, c), max(high, c)
	}
	return columns{int(low), int(high) + 1}
}

// add records the columns of a row. Rows come in ascending order.
func (r *reach) add(row int, c columns) {
	if row/reachRows == len(r.blocks) {
		r.blocks = append(r.blocks, columns{})
	}
	r.blocks[row/reachRows].add(c)
}

// of returns the columns of all blocks that have one of the n rows from lo, of a matrix with
// that many rows.
func (r *reach) of(rows, lo, n int) (c columns) {
	if lo < 0 || n < 0 || n > rows-lo {
		panic(fmt.Sprintf("kernels: rows %d to %d of a matrix of %d rows", lo, lo+n, rows))
	}
	if n == 0 {
		return c
	}
	for _, b := range r.blocks[lo/reachRows : (lo+n-1)/reachRows+1] {
		c.add(b)
	}
	return c
}
