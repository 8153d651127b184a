package kernels

import (
	"fmt"
	"iter"
)

// BlockLen is the number of elements of a block. The blocked kernels return one partial
// result per block.
const BlockLen = 4096

// NumBlocks returns the number of blocks of a vector of n elements.
func NumBlocks(n int) int { return (n + BlockLen - 1) / BlockLen }

// BlocksAligned divides 0..n into at most parts ranges [lo, hi) whose inner borders are
// multiples of BlockLen. The first ones may be one block longer than the others. No range
// is empty; n = 0 gives none. It panics if parts < 1.
func BlocksAligned(n, parts int) iter.Seq2[int, int] {
	if parts < 1 {
		panic(fmt.Sprintf("kernels: BlocksAligned into %d parts", parts))
	}
	return func(yield func(lo, hi int) bool) {
		blocks := NumBlocks(n)
		parts := min(parts, blocks)
		lo := 0
		for p := range parts {
			k := blocks / parts
			if p < blocks%parts {
				k++
			}
			hi := min(lo+k*BlockLen, n)
			if !yield(lo, hi) {
				return
			}
			lo = hi
		}
	}
}

// eachBlock calls f for the blocks of a range of n elements.
func eachBlock(n, partials int, f func(k, lo, hi int)) {
	same(NumBlocks(n), partials)
	for k := range partials {
		f(k, k*BlockLen, min((k+1)*BlockLen, n))
	}
}

// DotBlocks sets partial[k] to Dot of the k-th block of x and y. x and y are a range of
// whole vectors that starts at a multiple of BlockLen; partial has NumBlocks(len(x))
// elements.
func DotBlocks[T Float](x, y, partial []T) {
	same(len(y), len(x))
	k := active[T]()
	eachBlock(len(x), len(partial), func(b, lo, hi int) {
		partial[b] = k.Dot(x[lo:hi], y[lo:hi])
	})
}

// SumTree adds partial results in a fixed order. The sum of one result is the result. The
// sum of n results is the sum of the first h plus the sum of the others, where h is the
// largest power of two less than n. The sum of no results is 0. SumTree does not change
// partial.
func SumTree[T Float](partial []T) T {
	switch n := len(partial); n {
	case 0:
		return 0
	case 1:
		return partial[0]
	default:
		h := 1
		for 2*h < n {
			h *= 2
		}
		return canonical(SumTree(partial[:h]) + SumTree(partial[h:]))
	}
}
