package main

import "github.com/intrahpc/intra/examples/npb/internal/nas"

// fill sets points to random numbers. first is the number of the first one among all
// points.
//
//intra:task in(first) out(u)
func fill(first int, u []complex128) {
	r := nas.Seed.After(2 * first)
	for i := range u {
		re := r.Next()
		u[i] = complex(re, r.Next())
	}
}

// transformPlanes transforms planes along x and y.
//
//intra:task in(tx, ty) inout(u)
func transformPlanes(tx, ty *fourier, u []complex128) {
	nx, ny := tx.n, ty.n
	ax, bx := tx.workspace()
	ay, by := ty.workspace()
	for ; len(u) > 0; u = u[nx*ny:] {
		for y := 0; y < ny; y += lines {
			rows := u[y*nx:][:lines*nx]
			for l := range lines {
				for x, v := range rows[l*nx:][:nx] {
					ax[x*lines+l] = v
				}
			}
			done := tx.transform(ax, bx)
			for l := range lines {
				row := rows[l*nx:][:nx]
				for x := range row {
					row[x] = done[x*lines+l]
				}
			}
		}
		for x := 0; x < nx; x += lines {
			for y := range ny {
				copy(ay[y*lines:][:lines], u[y*nx+x:])
			}
			done := ty.transform(ay, by)
			for y := range ny {
				copy(u[y*nx+x:][:lines], done[y*lines:][:lines])
			}
		}
	}
}

// transformColumns transforms columns lo to hi-1 of u along z. columns is the number of
// columns of u.
//
//intra:task in(t, u, columns, lo, hi) out(v[:, lo:hi:columns])
func transformColumns(t *fourier, u []complex128, columns, lo, hi int, v []complex128) {
	a, b := t.workspace()
	for c := lo; c < hi; c += lines {
		for z := range t.n {
			copy(a[z*lines:][:lines], u[z*columns+c:])
		}
		done := t.transform(a, b)
		for z := range t.n {
			copy(v[z*columns+c:][:lines], done[z*lines:][:lines])
		}
	}
}

// dampColumns is like transformColumns, but damps each wave first. Its factor is the
// product of three factors, for its position in x, y and z.
//
//intra:task in(t, u, fx, fy, fz, columns, lo, hi) out(v[:, lo:hi:columns])
func dampColumns(t *fourier, u []complex128, fx, fy, fz []float64, columns, lo, hi int, v []complex128) {
	a, b := t.workspace()
	var f [lines]float64
	for c := lo; c < hi; c += lines {
		for l := range f {
			f[l] = fx[(c+l)%len(fx)] * fy[(c+l)/len(fx)]
		}
		for z := range t.n {
			from, to := u[z*columns+c:][:lines], a[z*lines:][:lines]
			for l, v := range from {
				g := f[l] * fz[z]
				to[l] = complex(g*real(v), g*imag(v))
			}
		}
		done := t.transform(a, b)
		for z := range t.n {
			copy(v[z*columns+c:][:lines], done[z*lines:][:lines])
		}
	}
}
