//go:build !intra

package conflictslisted

import (
	"conflicts"

	"github.com/intrahpc/intra"
)

func get(y []float64, i int) float64 { return y[i] }

func listed(p *intra.Process, x, y, buf []float64, k int, use func([]float64)) (t float64) {
	//intra:section on(p)
	{
		conflicts.Square(x[:k], y[:k])
		t = y[1] // want `y\[1\] may be used here after a task of kernel Square that writes it was launched; it has its value after the section; run with -check to see whether it is`
	}
	//intra:section on(p)
	{
		conflicts.Square(x[:k], y[:k])
		t = get(y, 7) // want `y may be used here by get after a task of kernel Square that writes it was launched`
	}
	/* want `this section: 2 accesses are possible that would be errors: buf\[0\] may be written here after a task of kernel Square that uses it was launched by an earlier turn of the loop; give each task memory of its own, or write it before the section \(sections.go:\d+\); y\[0\] may be used here after a task of kernel Square that writes it was launched; it has its value after the section \(sections.go:\d+\); run with -check to see whether they happen` */ //intra:section on(p)
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		if lo == 8 {
			buf[0] = 1
		}
		conflicts.Square(buf, y[lo:hi])
		t = y[0]
	}
	return t
}
