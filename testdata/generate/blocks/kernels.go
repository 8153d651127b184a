// Package blocks has regions of rows and columns, and several regions of one
// array.
package blocks

//go:generate go tool intragen

// relax computes the next values of a block of a field of n columns, whose
// border keeps its values.
//
//intra:task in(u, n, top, bottom, left, right) out(v[top:bottom, left:right:n])
func relax(u, v []float64, n, top, bottom, left, right int) {
	rows := len(u) / n
	for i := top; i < bottom; i++ {
		for j := left; j < right; j++ {
			at := i*n + j
			if i == 0 || j == 0 || i == rows-1 || j == n-1 {
				v[at] = u[at]
				continue
			}
			v[at] = 0.25 * (u[at-n] + u[at-1] + u[at+1] + u[at+n])
		}
	}
}

// multiply adds the product of a's rows and b's columns to a tile of c; all
// have n columns.
//
//intra:task in(a[top:bottom, :: n], b[:, left:right:n], n, top, bottom, left, right) inout(c[top:bottom, left:right:n])
func multiply(a, b, c []float64, n, top, bottom, left, right int) {
	for i := top; i < bottom; i++ {
		for k := range n {
			for j := left; j < right; j++ {
				c[i*n+j] += float64(a[i*n+k] * b[k*n+j])
			}
		}
	}
}

// ends writes the first and the last elements of a part of x, and every other
// column of a matrix of two columns.
//
//intra:task in(lo, hi) out(x[lo:lo+1], x[hi-1:hi], m[lo:hi, 1:2:2])
func ends(x, m []float64, lo, hi int) {
	x[lo], x[hi-1] = float64(lo), float64(-hi)
	for i := lo; i < hi; i++ {
		m[2*i+1] = x[lo] + float64(i)
	}
}
