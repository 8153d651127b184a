package main

import "github.com/intrahpc/intra/kernels"

// multiply computes the rows lo to lo+len(y) of y = A·x.
//
//intra:task in(a, lo, x) out(y)
func multiply(a *kernels.Sliced[float64], lo int, x, y []float64) { a.MulRows(lo, x, y) }
