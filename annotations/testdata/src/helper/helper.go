// Package helper has functions that kernels of other packages call.
package helper

import (
	"time"

	"github.com/intrahpc/intra/comm"
)

// Axpy adds a*x to y.
func Axpy(a float64, x, y []float64) {
	for i := range y {
		y[i] += float64(a * x[i])
	}
}

// Waxpby sets w.
func Waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	for i := range w {
		w[i] = float64(alpha*x[i]) + float64(beta*y[i])
	}
}

// Clock reads the clock two calls down.
func Clock() int64 { return now() }

func now() int64 { return time.Now().UnixNano() }

// Exchange passes messages.
func Exchange(c *comm.Comm, x []float64) { comm.Send(c, x, 0, 0) }

var calls int

// Count writes a package variable.
func Count() { calls++ }

// Scale is a kernel.
//
//intra:task in(a) inout(x)
func Scale(a float64, x []float64) {
	for i := range x {
		x[i] *= a
	}
}

// Halved reads nothing but its argument.
func Halved(n int) int { return n / 2 }
