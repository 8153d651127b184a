package intra_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"

	intraruntime "github.com/intrahpc/intra/runtime"
)

func TestBlocksOf(t *testing.T) {
	var blocks [][2]int
	for lo, hi := range intra.BlocksOf(10, 4) {
		blocks = append(blocks, [2]int{lo, hi})
	}
	require.Equal(t, [][2]int{{0, 4}, {4, 8}, {8, 10}}, blocks)
	for range intra.BlocksOf(0, 4) {
		t.Fatal("no elements, no block")
	}
	require.PanicsWithError(t, "intra.BlocksOf: blocks of 0 elements, want at least 1", func() { intra.BlocksOf(3, 0) })
}

// Every element of a matrix is in exactly one block.
func TestBlocksOfMatrices(t *testing.T) {
	const rows, cols = 7, 11
	for name, blocks := range map[string]func(yield func(r, c intra.Range) bool){
		"3x4": intra.Blocks2D(rows, cols, 3, 4), "more parts than rows": intra.Blocks2D(rows, cols, 9, 1),
		"tiles": intra.Tiles(rows, cols, 2, 5), "one tile": intra.Tiles(rows, cols, 100, 100),
	} {
		var seen [rows][cols]int
		for r, c := range blocks {
			require.Positive(t, r.Len()*c.Len(), name)
			for i := r.Lo; i < r.Hi; i++ {
				for j := c.Lo; j < c.Hi; j++ {
					seen[i][j]++
				}
			}
		}
		for i := range seen {
			require.Equal(t, slices.Repeat([]int{1}, cols), seen[i][:], name)
		}
	}
	for r := range intra.Blocks2D(4, 4, 2, 2) { // a loop may end early
		require.Zero(t, r.Lo)
		break
	}
}

// Tasks whose blocks have a row or a column in common are not independent. Tasks whose
// blocks only interleave in memory are.
func TestBlocksOverlap(t *testing.T) {
	const n = 8
	m := make([]float64, n*n)
	for name, c := range map[string]struct {
		a, b [4]int // top, bottom, left, right
		ok   bool
	}{
		"side by side":     {[4]int{0, 8, 0, 4}, [4]int{0, 8, 4, 8}, true},
		"above":            {[4]int{0, 4, 0, 8}, [4]int{4, 8, 0, 8}, true},
		"a common column":  {[4]int{0, 8, 0, 5}, [4]int{0, 8, 4, 8}, false},
		"a common corner":  {[4]int{0, 5, 0, 5}, [4]int{4, 8, 4, 8}, false},
		"corner to corner": {[4]int{0, 4, 0, 4}, [4]int{4, 8, 4, 8}, true},
		"empty":            {[4]int{0, 8, 3, 3}, [4]int{0, 8, 0, 8}, true},
	} {
		s := (*intra.Process)(nil).Section()
		for _, b := range [][4]int{c.a, c.b} {
			s.Launch(blockTask, func() {}, intraruntime.OutBlock("m", m, b[0], b[1], b[2], b[3], n))
		}
		err := s.End()
		if c.ok {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, "are not independent: out(m) of one and out(m) of the other share 8 bytes", name)
		}
	}
}

var blockTask = intra.Register("intra_test.block")

func TestBlocksOutsideOfTheMatrix(t *testing.T) {
	m := make([]float64, 12)
	for want, r := range map[string]intra.Region{
		"out(m): rows 0 to 4 of 4 elements need 16, and there are 12":   intraruntime.OutBlock("m", m, 0, 4, 0, 4, 4),
		"in(m): there are no rows 0 to 3 with columns 2 to 5 of 4":      intraruntime.InBlock("m", m, 0, 3, 2, 5, 4),
		"inout(m): there are no rows -1 to 3 with columns 0 to 4 of 4":  intraruntime.InOutBlock("m", m, -1, 3, 0, 4, 4),
		"scratch(m): there are no rows 2 to 1 with columns 0 to 4 of 4": intraruntime.ScratchBlock("m", m, 2, 1, 0, 4, 4),
	} {
		s := (*intra.Process)(nil).Section()
		s.Launch(blockTask, func() { t.Error("it runs") }, r)
		require.ErrorContains(t, s.End(), want)
	}
}

// Partial results begin with the neutral element and are folded in launch order. No code
// may access their target before the section ends.
func TestReduceSlice(t *testing.T) {
	v := []float64{1, 2}
	s := (*intra.Process)(nil).Section()
	for i := range 3 {
		part, r := intraruntime.ReduceSlice(s, "v", v, intraruntime.OpFunc(func(a, b float64) float64 { return 10*a + b }))
		s.Launch(blockTask, func() { part.Slice()[0] = float64(i) }, r)
	}
	require.Equal(t, []float64{1, 2}, v)
	require.NoError(t, s.End())
	require.Equal(t, []float64{1012, 2000}, v)

	s = (*intra.Process)(nil).Section()
	part, r := intraruntime.ReduceSlice(s, "v", v, intraruntime.OpAdd[float64]())
	s.Launch(blockTask, func() { part.Slice() }, r, intra.In("x", v[1:]))
	require.ErrorContains(t, s.End(), "in(x) of task 0 is memory that tasks of this section reduce into, and has its value after it; use it after the section")
}

// A part that no task changes changes no bit of the result.
func TestNeutralElements(t *testing.T) {
	neutral(t, intraruntime.OpAdd[float64](), 0, negative(0), 3)
	neutral(t, intraruntime.OpAdd[complex128](), 0, complex(negative(0), negative(0)))
	neutral(t, intraruntime.OpAdd[int8](), -128, 127)
	neutral(t, intraruntime.OpMul[float32](), 0, float32(negative(0)), 3)
	neutral(t, intraruntime.OpMin[float64](), infinity(1), infinity(-1), 3)
	neutral(t, intraruntime.OpMin[uint16](), 0, 65535)
	neutral(t, intraruntime.OpMin[uint64](), 0, 1<<64-1)
	neutral(t, intraruntime.OpMin[int64](), -1<<63, 1<<63-1)
	neutral(t, intraruntime.OpMax[float32](), float32(infinity(1)), float32(infinity(-1)))
	neutral(t, intraruntime.OpMax[int8](), -128, 127)
	neutral(t, intraruntime.OpMax[uint32](), 0, 1<<32-1)
	neutral(t, intraruntime.OpAnd[bool](), true, false)
	neutral(t, intraruntime.OpOr[bool](), true, false)
	neutral(t, intraruntime.OpBitAnd[uint8](), 0, 0x5a, 255)
	neutral(t, intraruntime.OpBitOr[int](), 0, 0x5a, -1)
	neutral(t, intraruntime.OpBitXor[uint8](), 0, 0x5a, 255)
}

func negative(zero float64) float64 { return math.Copysign(zero, -1) }

func infinity(sign int) float64 { return math.Inf(sign) }

func neutral[T comparable](t *testing.T, op intraruntime.Op[T], values ...T) {
	t.Helper()
	v := slices.Clone(values)
	s := (*intra.Process)(nil).Section()
	part, r := intraruntime.ReduceSlice(s, "v", v, op)
	s.Launch(blockTask, func() { part.Slice() }, r)
	require.NoError(t, s.End())
	for i := range v {
		require.Equal(t, values[i], v[i])
		require.Equal(t, fmt.Sprint(values[i]), fmt.Sprint(v[i]), "-0 stays -0")
	}
}
