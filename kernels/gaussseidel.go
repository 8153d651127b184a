package kernels

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/kernels/internal/simd"
)

// GaussSeidel is a sweep of symmetric Gauss-Seidel over the diagonal blocks of a matrix,
// each by itself: x + Solve(b - A·x) is the next guess for A·x = b. With L, D and U for the
// parts of a block below, on and above the diagonal, Solve multiplies by the inverse of
// (D+L)·D⁻¹·(D+U).
//
// The result is defined row by row. The first pass goes from the first row of the block to
// the last, and x[i] becomes x[i]/d[i] minus its products with the entries below the
// diagonal. The second pass goes from the last row to the first, and x[i] becomes x[i]
// minus the products with the entries above the diagonal. All entries are divided by d[i]
// when the GaussSeidel is made. In both passes the products with columns that are 8 or more
// away from the row come first, then the others, in stored order.
type GaussSeidel[T Float] struct {
	bounds []int
	nnz    int
	d      []T

	// In a usual slice of 8 rows, only the entries next to the diagonal connect the rows
	// with each other, and the other entries can be stored by diagonals. The rows of all
	// other slices are stored one by one.
	below, above triangle[T]
	single       []int32 // per slice: its first row among the rows stored one by one, or usual
}

// triangle holds the entries on one side of the diagonal.
type triangle[T Float] struct {
	// Usual slices; other slices have no entries here. The values of above are stored in
	// the order of use, from the last slice to the first, so far cannot be used for
	// products.
	far *Sliced[T]

	chained []uint8 // per slice: the rows that have an entry next to the diagonal
	chain   []T     // per row: this entry

	// Rows of the other slices.
	ptr []int64
	col []int32
	val []T
}

const usual = -1

// NewGaussSeidel returns the sweep over the blocks bounds[k] to bounds[k+1]-1 of rows and
// columns. It ignores entries outside of the blocks. Every row inside must have one entry
// on the diagonal, which is not 0. Solve is fast if blocks start at multiples of 8.
func NewGaussSeidel[T Float](a *Sliced[T], bounds ...int) (*GaussSeidel[T], error) {
	rows, cols := a.Dims()
	if len(bounds) < 2 || bounds[0] != 0 || bounds[len(bounds)-1] != rows || !slices.IsSorted(bounds) || rows > cols {
		return nil, fmt.Errorf("kernels: blocks at %v of a matrix of %d rows and %d columns", bounds, rows, cols)
	}
	const S = simd.SliceRows
	g := &GaussSeidel[T]{bounds: slices.Clone(bounds), d: Alloc[T](rows), single: make([]int32, 0, rows/S+1)}
	below, above := newSide[T](rows, a.nnz), newSide[T](rows, a.nnz)
	block := 0
	for first := 0; first < rows; first += S {
		end := min(first+S, rows)
		usualSlice := end == first+S
		for i := first; i < end; i++ {
			for i >= g.bounds[block+1] {
				block++
				usualSlice = usualSlice && i == first
			}
			lo, hi := g.bounds[block], g.bounds[block+1]
			var err error
			a.entries(i, func(col int, val T) {
				switch {
				case col != i:
				case val == 0 || g.d[i] != 0:
					err = fmt.Errorf("kernels: row %d has no single entry on the diagonal that is not 0", i)
				default:
					g.d[i] = val
				}
			})
			if err == nil && g.d[i] == 0 {
				err = fmt.Errorf("kernels: row %d has no entry on the diagonal", i)
			}
			if err != nil {
				return nil, err
			}
			a.entries(i, func(col int, val T) {
				switch val /= g.d[i]; {
				case col < lo || col >= hi || col == i:
				case col < i:
					below.add(i-first, i, col, val)
				default:
					above.add(i-first, i, col, val)
				}
			})
		}
		usualSlice = usualSlice && below.usual(-1) && above.usual(1)
		if at := int32(len(below.ptr) - 1); usualSlice {
			g.single = append(g.single, usual)
		} else {
			g.single = append(g.single, at)
		}
		g.nnz += below.flush(end-first, usualSlice) + above.flush(end-first, usualSlice) + end - first
	}
	g.below, g.above = below.triangle, above.triangle
	g.below.far, g.above.far = below.b.Matrix(), above.b.Matrix()
	reverse(g.above.far)
	return g, nil
}

// reverse stores the values of a matrix by diagonals from the last slice to the
// first.
func reverse[T Float](a *Sliced[T]) {
	to := Alloc[T](len(a.diag))[:0]
	end := len(a.diag)
	for s := len(a.at) - 1; s >= 0; s-- {
		first := int(a.at[s])
		a.at[s] = int64(len(to))
		to = append(to, a.diag[first:end]...)
		end = first
	}
	a.diag = to
}

// side builds a triangle.
type side[T Float] struct {
	triangle[T]
	b            *Builder[T]
	col, near    [simd.SliceRows][]int32 // columns of the current slice
	val, nearVal [simd.SliceRows][]T
}

func newSide[T Float](rows, nnz int) *side[T] {
	const S = simd.SliceRows
	whole := (rows + S - 1) / S * S
	return &side[T]{
		b:        NewBuilder[T](rows, rows, nnz/2),
		triangle: triangle[T]{chained: make([]uint8, 0, whole/S), chain: Alloc[T](whole)[:0], ptr: []int64{0}},
	}
}

// add adds an entry to a row of the current slice.
func (s *side[T]) add(lane, row, col int, val T) {
	if d := col - row; d <= -simd.SliceRows || d >= simd.SliceRows {
		s.col[lane], s.val[lane] = append(s.col[lane], int32(col)), append(s.val[lane], val)
		return
	}
	s.near[lane], s.nearVal[lane] = append(s.near[lane], int32(col)), append(s.nearVal[lane], val)
}

// usual reports whether the current slice is a usual one. next is the distance of the only
// entry that may be close to the diagonal.
func (s *side[T]) usual(next int) bool {
	first, far := s.b.a.rows, 0
	for l := range s.col {
		if n := s.near[l]; len(n) > 1 || len(n) == 1 && int(n[0]) != first+l+next {
			return false
		}
		far += len(s.col[l])
	}
	return s.b.repeats(s.col[:]) || s.b.diagonals(s.col[:], maxDiagonals(far))
}

// flush stores the current slice. It returns the number of its entries.
func (s *side[T]) flush(rows int, usual bool) (nnz int) {
	var chained uint8
	var chain [simd.SliceRows]T
	for l := range rows {
		nnz += len(s.col[l]) + len(s.near[l])
		if usual {
			mustRow(s.b, s.col[l], s.val[l])
			if len(s.near[l]) > 0 {
				chained |= 1 << l
				chain[l] = s.nearVal[l][0]
			}
		} else {
			mustRow(s.b, nil, nil)
			s.triangle.col = append(append(s.triangle.col, s.col[l]...), s.near[l]...)
			s.triangle.val = append(append(s.triangle.val, s.val[l]...), s.nearVal[l]...)
			s.ptr = append(s.ptr, int64(len(s.triangle.col)))
		}
	}
	s.chained, s.chain = append(s.chained, chained), append(s.chain, chain[:]...)
	for l := range s.col {
		s.col[l], s.val[l], s.near[l], s.nearVal[l] = s.col[l][:0], s.val[l][:0], s.near[l][:0], s.nearVal[l][:0]
	}
	return nnz
}

// mustRow appends a row whose columns were checked before.
func mustRow[T Float](b *Builder[T], col []int32, val []T) {
	if err := b.Row(col, val); err != nil {
		panic(err)
	}
}

// Dims returns the numbers of rows and columns.
func (g *GaussSeidel[T]) Dims() (rows, cols int) { return len(g.d), len(g.d) }

// NNZ returns the number of entries inside the blocks.
func (g *GaussSeidel[T]) NNZ() int { return g.nnz }

// Bytes returns the memory that the entries take.
func (g *GaussSeidel[T]) Bytes() int64 {
	n := bytesOf(g.d) + bytesOf(g.single)
	for _, t := range []*triangle[T]{&g.below, &g.above} {
		n += t.far.Bytes() + bytesOf(t.chained) + bytesOf(t.chain) + bytesOf(t.ptr) + bytesOf(t.col) + bytesOf(t.val)
	}
	return n
}

// Format describes the storage format of the entries.
func (g *GaussSeidel[T]) Format() string {
	n := 0
	for _, s := range g.single {
		if s == usual {
			n++
		}
	}
	return fmt.Sprintf("%d blocks, %.0f%% of the slices by diagonal", len(g.bounds)-1, 100*float64(n)/float64(max(len(g.single), 1)))
}

// Solve replaces x, the rows lo to lo+len(x)-1, which must be whole blocks.
func (g *GaussSeidel[T]) Solve(lo int, x []T) { g.solve(active[T](), lo, x) }

func (g *GaussSeidel[T]) solve(k *simd.Ops[T], lo int, x []T) {
	hi := lo + len(x)
	block, ok := slices.BinarySearch(g.bounds, lo)
	_, too := slices.BinarySearch(g.bounds, hi)
	if !ok || !too {
		panic(fmt.Sprintf("kernels: rows %d to %d are not whole blocks", lo, hi))
	}
	for ; g.bounds[block] < hi; block++ {
		from, to := g.bounds[block], g.bounds[block+1]
		y := x[from-lo : to-lo]
		g.eachRun(from, to, func(first, end int, fast bool) {
			if fast {
				g.lower(k, first, end, from, y)
				return
			}
			for i := first; i < end; i++ {
				y[i-from] = g.below.row(g.at(i), y[i-from]/g.d[i], from, y)
			}
		}, false)
		g.eachRun(from, to, func(first, end int, fast bool) {
			if fast {
				g.upper(k, first, end, from, y)
				return
			}
			for i := end - 1; i >= first; i-- {
				y[i-from] = g.above.row(g.at(i), y[i-from], from, y)
			}
		}, true)
	}
}

// at returns the position of the pointers of a row that is not in a usual slice.
func (g *GaussSeidel[T]) at(row int) int {
	return int(g.single[row/simd.SliceRows]) + row%simd.SliceRows
}

// row subtracts the products of one row from v.
func (t *triangle[T]) row(at int, v T, first int, x []T) T {
	for e := t.ptr[at]; e < t.ptr[at+1]; e++ {
		v -= T(t.val[e] * x[int(t.col[e])-first])
	}
	return canonical(v)
}

// eachRun divides the rows of a block into runs of usual slices and runs of other slices.
// It calls f for each run, from the last to the first if backward.
func (g *GaussSeidel[T]) eachRun(lo, hi int, f func(first, end int, fast bool), backward bool) {
	const S = simd.SliceRows
	if backward {
		for hi > lo {
			s := (hi - 1) / S
			fast, first := g.single[s] == usual, s
			for first > 0 && first*S > lo && (g.single[first-1] == usual) == fast {
				first--
			}
			f(max(first*S, lo), hi, fast)
			hi = max(first*S, lo)
		}
		return
	}
	for lo < hi {
		s := lo / S
		fast, end := g.single[s] == usual, s+1
		for end*S < hi && (g.single[end] == usual) == fast {
			end++
		}
		f(lo, min(end*S, hi), fast)
		lo = min(end*S, hi)
	}
}

func (g *GaussSeidel[T]) lower(k *simd.Ops[T], first, end, from int, y []T) {
	const S = simd.SliceRows
	s, e, t := first/S, end/S, &g.below
	a := t.far
	k.Lower(a.aux[s:e], a.ptr, a.off, a.mask, t.chained[s:e], a.diag[a.at[s]:], t.chain[first:end], g.d[first:end], y, first-from)
}

func (g *GaussSeidel[T]) upper(k *simd.Ops[T], first, end, from int, y []T) {
	const S = simd.SliceRows
	s, e, t := first/S, end/S, &g.above
	a := t.far
	k.Upper(a.aux[s:e], a.ptr, a.off, a.mask, t.chained[s:e], a.diag[a.at[e-1]:], t.chain[first:end], y, first-from)
}
