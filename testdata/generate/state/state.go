// Package state has types whose fields intragen registers.
package state

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/generate/state/mesh"
)

//go:generate go tool intragen

// solver has a field of every kind.
//
//intra:state skip(p, matrix)
//intra:state skip(log)
type solver struct {
	p       *intra.Process
	matrix  map[int]float64 // computed again
	log     *bytes.Buffer
	x, r    []float64
	rho     float64
	iter    int
	_       int32
	box     [3]int
	ions    []ion
	random  *rand.PCG
	second  rand.PCG
	started time.Time
	mesh    *mesh.Mesh
	clock
	history ring[float64]
	own     saved
}

type ion struct {
	X, V [3]float64
	ID   int32
}

type (
	// clock is embedded in others.
	//
	//intra:state
	clock struct{ ticks uint64 }

	// ring is generic.
	//
	//intra:state
	ring[T ~float32 | ~float64] struct {
		last []T
		next int
	}
)

// s has the name that a receiver would get.
//
//intra:state
type s struct {
	name  string_
	other p
	ps    []p
}

type (
	string_ [8]byte
	p       int
)

// saved says itself what is to be saved.
type saved struct{ text string }

func (s *saved) Protect(p *intra.Process, name string) {
	b := (*blob)(s)
	intra.Protect(p, name, b)
}

type blob saved

func (b *blob) MarshalBinary() ([]byte, error)    { return []byte(b.text), nil }
func (b *blob) UnmarshalBinary(text []byte) error { b.text = string(text); return nil }

func newSolver(p *intra.Process, n int) *solver {
	sol := &solver{p: p, x: make([]float64, n), r: make([]float64, n), random: rand.NewPCG(1, 2), mesh: mesh.New(n)}
	sol.Protect(p, "solver")
	return sol
}
