package main

import "math"

// lines is the number of transforms that are computed side by side.
const lines = 16

// fourier is a discrete Fourier transform of a length that is a power of two.
type fourier struct {
	n     int
	roots []complex128 // roots of unity: exp(-2πi·k/n)
}

func newFourier(n int) *fourier {
	t := &fourier{n: n, roots: make([]complex128, n)}
	for k := range t.roots {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		t.roots[k] = complex(cos, sin)
	}
	return t
}

// workspace allocates two arrays for transform.
func (t *fourier) workspace() (x, y []complex128) {
	return make([]complex128, lines*t.n), make([]complex128, lines*t.n)
}

// transform computes the transforms of x, in which element i of all lines precedes element
// i+1. It returns x or y, whichever has the result; the contents of the other one are lost.
// It uses Stockham's method by radix 4, with one step of radix 2 if the length is not a
// power of four. Each pass leaves its results in order.
func (t *fourier) transform(x, y []complex128) []complex128 {
	n, stride := t.n, lines
	for ; n >= 4; n, stride = n/4, 4*stride {
		quarter := n / 4 * stride
		for k := range n / 4 {
			in, out := x[k*stride:], y[4*k*stride:]
			root := k * (t.n / n)
			fours(t.roots[root], t.roots[2*root], t.roots[3*root],
				in[:stride], in[quarter:][:stride], in[2*quarter:][:stride], in[3*quarter:][:stride],
				out[:stride], out[stride:][:stride], out[2*stride:][:stride], out[3*stride:][:stride])
		}
		x, y = y, x
	}
	if n == 2 {
		twos(x[:stride], x[stride:][:stride], y[:stride], y[stride:][:stride])
		x = y
	}
	return x
}

// fours carries out a radix-4 step for many lines.
func fours(w1, w2, w3 complex128, a, b, c, d, p, q, r, s []complex128) {
	n := len(a)
	b, c, d, p, q, r, s = b[:n], c[:n], d[:n], p[:n], q[:n], r[:n], s[:n]
	for i, ai := range a {
		ci, bi, di := c[i], b[i], d[i]
		even, odd := ai+ci, bi+di
		difference, turned := ai-ci, bi-di
		turned = complex(imag(turned), -real(turned))
		p[i] = even + odd
		q[i] = times(w1, difference+turned)
		r[i] = times(w2, even-odd)
		s[i] = times(w3, difference-turned)
	}
}

// twos carries out a radix-2 step for many lines.
func twos(a, b, p, q []complex128) {
	n := len(a)
	b, p, q = b[:n], p[:n], q[:n]
	for i, ai := range a {
		bi := b[i]
		p[i], q[i] = ai+bi, ai-bi
	}
}

// times multiplies with the same bits on every CPU: no operation is fused.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}
