package main

import (
	"math"

	"github.com/intrahpc/intra"
)

// restart is the number of iterations after which GMRES starts again from its current
// solution.
const restart = 20

// gmres is GMRES(20), preconditioned from the right, so that its residual is the true one.
//
//intra:state skip(s, n, w)
type gmres struct {
	s *solver
	n int
	w []float64

	basis []float64 // restart+1 vectors, one after the other
	j     int       // number of basis vectors that are computed
	// The least squares problem. Rotations turn the products of the basis into a triangle,
	// and are applied to the right-hand side as well.
	triangle [restart][restart + 1]float64 // by columns
	cos, sin [restart]float64
	right    [restart + 1]float64
}

func newGMRES(s *solver, n int) *gmres {
	return &gmres{s: s, n: n, w: intra.Alloc[float64](n), basis: intra.Alloc[float64]((restart + 1) * n)}
}

func (g *gmres) vector(i int) []float64 { return g.basis[i*g.n : (i+1)*g.n] }

func (g *gmres) iterate() error {
	if g.j == 0 {
		if err := g.begin(); err != nil {
			return err
		}
	}
	if err := g.extend(); err != nil {
		return err
	}
	g.rotate()
	g.j++
	s := g.s
	s.history = append(s.history, math.Abs(g.right[g.j]))
	if g.j == restart || s.done() {
		return g.solve()
	}
	return nil
}

// begin computes the first vector of the basis: the residual, scaled to the norm 1.
func (g *gmres) begin() error {
	s, l := g.s, g.s.hierarchy.levels[0]
	copy(l.x, s.x)
	if err := s.multiply(l.x, g.w); err != nil {
		return err
	}
	s.waxpby(1, s.ones, -1, g.w, g.w)
	square, err := s.product(g.w, g.w)
	if err != nil {
		return err
	}
	g.right = [restart + 1]float64{math.Sqrt(square)}
	g.normalise(0, g.right[0])
	return nil
}

// normalise makes w vector i of the basis. norm is the norm of w.
func (g *gmres) normalise(i int, norm float64) {
	f := 0.0
	if norm > 0 {
		f = 1 / norm
	}
	g.s.waxpby(f, g.w, 0, g.w, g.vector(i))
}

// extend adds a vector to the basis: the matrix times the last vector, orthogonalised against all
// vectors by the modified Gram-Schmidt method.
func (g *gmres) extend() error {
	s, column := g.s, &g.triangle[g.j]
	z, err := s.precondition(g.vector(g.j))
	if err != nil {
		return err
	}
	if err := s.multiply(z, g.w); err != nil {
		return err
	}
	for i := range g.j + 1 {
		v := g.vector(i)
		if column[i], err = s.product(g.w, v); err != nil {
			return err
		}
		s.waxpby(1, g.w, -column[i], v, g.w)
	}
	square, err := s.product(g.w, g.w)
	if err != nil {
		return err
	}
	column[g.j+1] = math.Sqrt(square)
	g.normalise(g.j+1, column[g.j+1])
	return nil
}

// rotate makes the last element of the new column zero.
func (g *gmres) rotate() {
	j, column := g.j, &g.triangle[g.j]
	turn := func(i int, a, b float64) (float64, float64) {
		return float64(g.cos[i]*a) + float64(g.sin[i]*b), float64(g.cos[i]*b) - float64(g.sin[i]*a)
	}
	for i := range j {
		column[i], column[i+1] = turn(i, column[i], column[i+1])
	}
	g.cos[j], g.sin[j] = 1, 0
	if length := math.Sqrt(float64(column[j]*column[j]) + float64(column[j+1]*column[j+1])); length > 0 {
		g.cos[j], g.sin[j] = column[j]/length, column[j+1]/length
	}
	column[j], column[j+1] = turn(j, column[j], column[j+1])
	g.right[j], g.right[j+1] = turn(j, g.right[j], 0)
}

// solve adds the correction from the basis to x. The next iteration starts again.
func (g *gmres) solve() error {
	s := g.s
	var y [restart]float64
	for i := g.j - 1; i >= 0; i-- {
		y[i] = g.right[i]
		for k := i + 1; k < g.j; k++ {
			y[i] -= float64(g.triangle[k][i] * y[k])
		}
		y[i] /= g.triangle[i][i]
	}
	s.waxpby(y[0], g.vector(0), 0, g.vector(0), g.w)
	for i := 1; i < g.j; i++ {
		s.waxpby(1, g.w, y[i], g.vector(i), g.w)
	}
	z, err := s.precondition(g.w)
	if err != nil {
		return err
	}
	s.waxpby(1, s.x, 1, z[:g.n], s.x)
	g.j = 0
	return nil
}
