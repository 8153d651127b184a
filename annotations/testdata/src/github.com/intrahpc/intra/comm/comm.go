// Package comm replaces the real package for message passing. The tests need only its names.
package comm

type Comm struct{}

func (c *Comm) Rank() int      { return 0 }
func (c *Comm) Barrier() error { return nil }

func Send[T any](c *Comm, buf []T, dst, tag int) error { return nil }

func Sum[T ~float64 | ~int](a, b T) T { return a + b }

func AllreduceValue[T any](c *Comm, v T, op func(a, b T) T) (T, error) { return v, nil }
