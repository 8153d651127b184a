package kernels_test

import (
	"fmt"

	"github.com/intrahpc/intra/kernels"
)

func ExampleWaxpby() {
	x, y := []float64{1, 2, 3}, []float64{10, 20, 30}
	w := make([]float64, 3)
	kernels.Waxpby(2, x, 0.5, y, w)
	fmt.Println(w)
	// Output: [7 14 21]
}

func ExampleDot() {
	fmt.Println(kernels.Dot([]float64{1, 2, 3}, []float64{4, 5, 6}))
	// Output: 32
}

// The second derivative on a line of five points, multiplied in two parts.
func ExampleBuilder() {
	const n = 5
	b := kernels.NewBuilder[float64](n, n, 3*n)
	for i := range n {
		var col []int32
		var val []float64
		for j := max(i-1, 0); j <= min(i+1, n-1); j++ {
			col = append(col, int32(j))
			if j == i {
				val = append(val, 2)
			} else {
				val = append(val, -1)
			}
		}
		if err := b.Row(col, val); err != nil {
			fmt.Println(err)
			return
		}
	}
	a := b.Matrix()

	x := []float64{1, 4, 9, 16, 25}
	y := make([]float64, n)
	a.MulRows(0, x, y[:2])
	a.MulRows(2, x, y[2:])
	fmt.Println(y)
	// Output: [-2 -2 -2 -2 34]
}

// A sum that is the same for any number of tasks.
func ExampleDotBlocks() {
	const n = 10_000
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 / float64(i+1)
	}
	for _, tasks := range []int{1, 2, 3} {
		partial := make([]float64, kernels.NumBlocks(n))
		for lo, hi := range kernels.BlocksAligned(n, tasks) { // each could run on any replica
			first := lo / kernels.BlockLen
			kernels.DotBlocks(x[lo:hi], x[lo:hi], partial[first:first+kernels.NumBlocks(hi-lo)])
		}
		fmt.Println(kernels.SumTree(partial))
	}
	// Output:
	// 1.64483407184806
	// 1.64483407184806
	// 1.64483407184806
}

func ExampleChoose() {
	// A matrix of two rows: [1 0 2] and [0 3 0].
	a, err := kernels.NewCSR(3, []int64{0, 2, 3}, []int32{0, 2, 1}, []float64{1, 2, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := kernels.Choose(a)
	y := make([]float64, 2)
	m.MulRows(0, []float64{1, 10, 100}, y)
	fmt.Println(y)
	// Output: [201 30]
}
