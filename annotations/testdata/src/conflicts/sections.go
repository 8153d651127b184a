//go:build !intra

package conflicts

import (
	"fmt"

	"github.com/intrahpc/intra"
)

func refused(p *intra.Process, g *grid, x, y, v, buf []float64) (t float64) {
	n := len(v)
	//intra:section on(p)
	{
		sq(x[:2], y[:2])
		t = y[1] // want `y\[1\] is used here after a task of kernel sq that writes it was launched; it has its value after the section`
		t = y[2]
	}
	//intra:section on(p)
	{
		sq(x, y)
		for i := range y {
			t += y[i] // want `y\[i\] is used here after a task of kernel sq that writes it was launched`
		}
	}
	//intra:section on(p)
	{
		sq(x, y)
		for _, w := range y { // want `y is used here after a task of kernel sq that writes it was launched`
			t += w
		}
	}
	//intra:section on(p)
	{
		sq(x, y)
		copy(v, y)     // want `y is used here after a task of kernel sq that writes it was launched`
		t = total(y)   // want `y is used here by total after a task of kernel sq that writes it was launched`
		fill(x[:2], 0) // want `x\[:2\] is written here by fill after a task of kernel sq that uses it was launched; write it after the section`
		clear(x)       // want `x is written here after a task of kernel sq that uses it was launched`
		fmt.Println(y) // want `y is used here after a task of kernel sq that writes it was launched`
	}
	a := 0.0
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		if lo > 0 {
			a = v[lo-1] // want `v\[lo - 1\] is used here after a task of kernel scan that writes it was launched by an earlier turn of the loop; it has its value after the section`
		}
		scan(a, v[lo:hi])
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		scan(v[max(lo-1, 0)], v[lo:hi])
		a = v[hi-1] // want `v\[hi - 1\] is used here after a task of kernel scan that writes it was launched; it has its value after the section`
	}
	//intra:section on(p)
	for lo := 0; lo < n; lo += 8 {
		hi := min(lo+8, n)
		if lo > 0 {
			a = v[lo-1] // want `v\[lo - 1\] is used here after a task of kernel scan that writes it was launched by an earlier turn of the loop`
		}
		scan(a, v[lo:hi])
	}
	//intra:section on(p)
	for i := range n {
		if i > 0 {
			a = v[i-1] // want `v\[i - 1\] is used here after a task of kernel scan that writes it was launched by an earlier turn of the loop`
		}
		scan(a, v[i:i+1])
	}
	//intra:section on(p)
	for i := 1; i < n; i++ {
		y[i] = first(y[i:])
		t = y[i-1] // want `y\[i - 1\] is used here after a task of kernel first that writes it was launched by an earlier turn of the loop`
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		fill(buf, float64(lo)) // want `buf is written here by fill after a task of kernel sq that uses it was launched by an earlier turn of the loop; give each task memory of its own, or write it before the section`
		sq(buf, y[lo:hi])
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		buf[0] = float64(lo) // want `buf\[0\] is written here after a task of kernel sq that uses it was launched by an earlier turn of the loop`
		sq(buf, y[lo:hi])
		copy(buf, x) // want `buf is written here after a task of kernel sq that uses it was launched; write it after the section`
	}
	//intra:section on(p)
	{
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			sq(x[lo:hi], y[lo:hi])
		}
		t = y[3] // want `y\[3\] is used here after a task of kernel sq that writes it was launched; it has its value after the section`
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(g.z), p.Tasks()) {
		g.relax(lo, hi)
		t = g.z[lo] // want `g.z\[lo\] is used here after a task of kernel relax that writes it was launched`
		g.n++       // want `g.n is written here after a task of kernel relax that uses it was launched`
		g.w[0] = 1  // want `g.w\[0\] is written here after a task of kernel relax that uses it was launched`
	}
	z := y[4:8]
	get := func() float64 { return z[1] }
	//intra:section on(p)
	{
		sq(x[:6], y[:6])
		t = z[0]  // want `z\[0\] is used here after a task of kernel sq that writes it was launched`
		t = get() // want `z\[1\] is used here by get after a task of kernel sq that writes it was launched`
		t = z[3]
	}
	//intra:section on(p)
	{
		part(x, y, 2, 5)
		t = y[2] // want `y\[2\] is used here after a task of kernel part that writes it was launched`
		t = y[5]
	}
	s := 0.0
	//intra:section on(p)
	{
		firstInto(x, &s)
		t = s // want `s is used here after a task of kernel firstInto that writes it was launched`
	}
	return t + a
}

func accepted(p *intra.Process, g *grid, x, y, v []float64, bufs [][]float64, ys [4][]float64) (t float64) {
	n := len(v)
	a := v[0]
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		v[lo] = a // an element of a block without a task yet
		a = v[hi-1]
		scan(a, v[lo:hi])
		if hi < n {
			a = v[hi]
		}
		t += x[lo]
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		buf := make([]float64, hi-lo)
		fill(buf, float64(lo))
		copy(buf, x[lo:hi])
		sq(buf, y[lo:hi])
	}
	var buf []float64
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		buf = make([]float64, hi-lo)
		fill(buf, float64(lo))
		sq(buf, y[lo:hi])
	}
	//intra:section on(p)
	for i := range bufs {
		fill(bufs[i], float64(i))
		sq(bufs[i], y[i*4:i*4+4])
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		x[lo] = 1
		sq(x[lo:hi], y[lo:hi])
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(g.z), p.Tasks()) {
		if lo == 0 {
			t = g.z[0]
		}
		g.relax(lo, hi)
		t += g.w[lo] + float64(g.n)
		t += float64(len(g.z))
	}
	//intra:section on(p)
	{
		if n > 3 {
			sq(x, y)
		} else {
			t = y[0]
			x[0] = 1
		}
	}
	//intra:section on(p)
	{
		sq(x[:4], y[:4])
		sq(x[4:8], y[4:8])
		t = x[2] + y[8]
		y[9] = t
	}
	//intra:section on(p)
	for i := range 4 {
		if i == 0 {
			t = y[0]
		}
		sq(x[i:i+1], y[i:i+1])
	}
	return t
}

func functions(p *intra.Process, m *meter, x, y []float64) int {
	n, last, tmp, factor := 0, 0.0, 0.0, 2.0
	seen := make([]int, 4)
	count := func(v float64) float64 { n++; return v }
	remember := func(v float64) float64 { last = v; return v }
	histogram := func(v float64) float64 { seen[int(v)]++; return v }
	work := func(v float64) float64 { tmp = v * v; return tmp }
	sum, squares := 0.0, make([]float64, 3)
	norm := func(v float64) float64 {
		sum = 0
		clear(squares)
		for i := range squares {
			squares[i] += v * v
			sum += squares[i]
		}
		return sum
	}
	pure := func(v float64) float64 {
		s := v
		s += factor
		return s
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		apply(count, x[lo:hi], y[lo:hi])                                           // want `count is passed to kernel apply, and updates n \(sections.go:\d+\): another replica that runs the task does not do so here; keep no state in it, or compute it after the section`
		apply(remember, x[lo:hi], y[lo:hi])                                        // want `remember is passed to kernel apply, and writes last`
		apply(histogram, x[lo:hi], y[lo:hi])                                       // want `histogram is passed to kernel apply, and updates seen\[int\(v\)\]`
		apply(func(v float64) float64 { n = n + 1; return v }, x[lo:hi], y[lo:hi]) // want `a function literal is passed to kernel apply, and updates n`
		apply(counted, x[lo:hi], y[lo:hi])                                         // want `counted is passed to kernel apply, and writes the package variable conflicts.calls`
		apply(m.read, x[lo:hi], y[lo:hi])                                          // want `m.read is passed to kernel apply, and writes its receiver.n`
		apply(work, x[lo:hi], y[lo:hi])
		apply(norm, x[lo:hi], y[lo:hi])
		apply(pure, x[lo:hi], y[lo:hi])
		apply(half, x[lo:hi], y[lo:hi])
		apply(m.scale, x[lo:hi], y[lo:hi])
	}
	return n + int(last) + seen[0]
}
