package main

import (
	"math"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// seed is where the sequence begins.
const seed nas.Random = 271828183

// annuli is how many there are.
const annuli = 10

// chunk is how many pairs are drawn before those in the circle are looked at. They are
// stored one after the other without a branch, which could not be predicted. A separate
// loop computes their logarithms, so that the CPU need not wait for each one.
const chunk = 256

// tally adds up the pairs of normally distributed numbers of the batches first to
// end-1, and counts them by the larger of their absolute values.
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
