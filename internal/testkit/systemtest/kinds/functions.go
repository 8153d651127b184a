package main

import (
	"math"
	"math/rand"
)

// The functions of this file are in arguments of kernels.

func adder(by float64) func(float64) float64 { return func(v float64) float64 { return v + by } }

func composed(f, g func(float64) float64) func(float64) float64 {
	return func(v float64) float64 { return f(g(v)) }
}

// power returns a function that calls itself.
func power(n int) func(float64) float64 {
	var of func(v float64, n int) float64
	of = func(v float64, n int) float64 {
		if n == 0 {
			return 1
		}
		return v * of(v, n-1)
	}
	return func(v float64) float64 { return of(v, n) }
}

// polynomial is a function that reads its coefficients.
type polynomial []float64

func (p polynomial) eval(v float64) (sum float64) {
	for _, c := range p {
		sum = sum*v + c
	}
	return sum
}

// worker has work memory that each call fills before it reads it.
type worker struct{ work [4]float64 }

func (w *worker) eval(v float64) float64 {
	for i := range w.work {
		w.work[i] = v / float64(i+1)
	}
	return w.work[1] + w.work[3]
}

type adapter func(float64) float64

func (a adapter) eval(v float64) float64 { return a(v) }

type choice struct{ positive, negative function }

func (c choice) eval(v float64) float64 {
	if v > 2 {
		return c.positive.eval(v)
	}
	return c.negative.eval(v)
}

// The following functions keep state between calls.

type sequence struct{ n int }

func (s *sequence) eval(v float64) float64 { s.n++; return v * float64(s.n) }

type recorder struct{ seen []float64 }

func (r *recorder) eval(v float64) float64 { r.seen = append(r.seen, v); return v }

type memo struct{ known map[float64]float64 }

func (m *memo) eval(v float64) float64 {
	if w, ok := m.known[v]; ok {
		return w
	}
	w := math.Sqrt(v)
	m.known[v] = w
	return w
}

type noise struct{ r *rand.Rand }

func (n noise) eval(v float64) float64 { return v + n.r.Float64() }

type previous struct{ last *float64 }

func (p previous) eval(v float64) float64 {
	w := v - *p.last
	*p.last = v
	return w
}

// counter returns a function that counts its calls, and a pointer to that count.
func counter() (f func(float64) float64, calls *int) {
	calls = new(int)
	return func(v float64) float64 { *calls++; return v }, calls
}

// toggle returns a function that alternates between two results.
func toggle() func(float64) float64 {
	on := false
	return func(v float64) float64 {
		if on = !on; on {
			return v
		}
		return -v
	}
}
