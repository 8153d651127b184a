// Package kernels has the interface of the package of that name.
package kernels

type Matrix[T any] interface {
	First(lo, n int) int
	Last(lo, n int) int
	NNZ() int
	MulRows(lo int, x, y []T)
}
