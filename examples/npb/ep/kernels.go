package main

import (
	"math"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// seed is the start of the sequence.
const seed nas.Random = 271828183

// annuli is the number of annuli.
const annuli = 10

// chunk is the number of pairs that are drawn before those in the circle are selected.
// These are stored one after the other without a branch, because the branch could not be
// predicted. A separate loop computes their logarithms, so that the CPU can overlap them.
const chunk = 256

// tally computes the sums of the pairs of normally distributed numbers of the batches first
// to end-1, and counts the pairs by the larger of their absolute values.
//
//intra:task in(first, end) reduce(+: sums, counts)
func tally(first, end int, sums *[2]float64, counts *[annuli]int) {
	var sx, sy float64
	var drawn [2 * chunk]float64
	var xs, ys, squares, logs [chunk]float64
	for batch := first; batch < end; batch++ {
		r := seed.After(batch * 2 << logBatch)
		for range (1 << logBatch) / chunk {
			r.Fill(drawn[:])
			in := 0
			for k := 0; k < len(drawn); k += 2 {
				x, y := 2*drawn[k]-1, 2*drawn[k+1]-1
				square := float64(x*x) + float64(y*y)
				xs[in], ys[in], squares[in] = x, y, square
				if square <= 1 {
					in++
				}
			}
			for i, square := range squares[:in] {
				logs[i] = math.Log(square)
			}
			for i, square := range squares[:in] {
				f := math.Sqrt(-2 * logs[i] / square)
				x, y := xs[i]*f, ys[i]*f
				counts[int(max(math.Abs(x), math.Abs(y)))]++
				sx += x
				sy += y
			}
		}
	}
	sums[0] += sx
	sums[1] += sy
}
