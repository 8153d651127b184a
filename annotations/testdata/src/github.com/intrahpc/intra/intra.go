// Package intra replaces the real runtime. The tests need only its names.
package intra

import (
	"iter"

	"github.com/intrahpc/intra/comm"
)

type Process struct{ replica int }

func (p *Process) Tasks() int        { return 16 }
func (p *Process) Replica() int      { return p.replica }
func (p *Process) World() *comm.Comm { return nil }

func Blocks(n, parts int) iter.Seq2[int, int] { return func(func(int, int) bool) {} }

func Once[T any](p *Process, f func() (T, error)) (T, error) { return f() }

func Fetch[T any](p *Process, parts ...[]T) error { return nil }

func (p *Process) Settle() error { return nil }

func (p *Process) SafePoint() error { return nil }

func Alloc[T any](n int) []T { return nil }
