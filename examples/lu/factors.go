package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra"
)

// factors are the matrix and the progress of its factorization.
//
//intra:state skip(p, n, tasks)
type factors struct {
	p        *intra.Process
	n, tasks int

	a       []float64 // the matrix, by rows; columns before column hold the factors L and U
	swapped []int     // row that was swapped with row k, for each column k before column
	column  int       // next column; n: the matrix has to be filled
	times   []seconds // of complete factorizations
}

// seconds is a time on one replica.
type seconds float64

// Measured implements intra.Measured.
func (seconds) Measured() {}

func newFactors(p *intra.Process, set settings) *factors {
	f := &factors{p: p, n: set.n, tasks: set.tasks, swapped: make([]int, set.n), column: set.n}
	if set.ordinary {
		f.a = make([]float64, set.n*set.n)
	} else {
		f.a = intra.Alloc[float64](set.n * set.n)
	}
	f.Protect(p, "lu")
	return f
}

// fill fills the matrix with random numbers between -0.5 and 0.5, the same in each call.
func (f *factors) fill() {
	fill(f.a)
	f.column = 0
}

func fill(a []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range a {
		a[i] = r.Float64() - 0.5
	}
}

// factor factors the matrix, beginning at the next column.
func (f *factors) factor() error {
	from := time.Now()
	for ; f.column < f.n; f.column++ {
		if err := f.p.SafePoint(); err != nil {
			return err
		}
		k := f.column
		best := f.search(k)
		if best.magnitude == 0 {
			return fmt.Errorf("the matrix is singular: column %d has no pivot", k)
		}
		f.swap(k, best.row)
		f.eliminate(k)
	}
	f.times = append(f.times, seconds(time.Since(from).Seconds())) //intra:allow
	return nil
}

// row returns row i of the matrix.
func (f *factors) row(i int) []float64 { return f.a[i*f.n : (i+1)*f.n] }

// swap swaps the row of the pivot with row k.
func (f *factors) swap(k, with int) {
	f.swapped[k] = with
	if a, b := f.row(k), f.row(with); with != k {
		for j := range a {
			a[j], b[j] = b[j], a[j]
		}
	}
}

// solve solves the system with right-hand side x. It leaves the solution in x.
func (f *factors) solve(x []float64) {
	for k, with := range f.swapped {
		x[k], x[with] = x[with], x[k]
	}
	for i := range x {
		for j, l := range f.row(i)[:i] {
			x[i] -= float64(l * x[j])
		}
	}
	for i := f.n - 1; i >= 0; i-- {
		for j := i + 1; j < f.n; j++ {
			x[i] -= float64(f.row(i)[j] * x[j])
		}
		x[i] /= f.row(i)[i]
	}
}

// deviation returns the largest error of the solution of a system whose solution is 1
// everywhere.
func (f *factors) deviation() (x []float64, most float64) {
	a := make([]float64, len(f.a))
	fill(a)
	x = make([]float64, f.n)
	for i := range x {
		for _, v := range a[i*f.n : (i+1)*f.n] {
			x[i] += v
		}
	}
	f.solve(x)
	for _, v := range x {
		most = max(most, math.Abs(v-1))
	}
	return x, most
}
