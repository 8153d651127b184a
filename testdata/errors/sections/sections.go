//go:build !intra

package sections

import (
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/errors/helper"
)

type sim struct{ p *intra.Process }

func accepted(p *intra.Process, s *sim, x, w []float64, parts []float64, at map[string]float64) float64 {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		copyTo(x[lo:hi], w[lo:hi])
	}
	var dot, least float64
	//intra:section sched(static)
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		if lo == hi {
			continue
		}
		dot += sum(x[lo:hi])
		least = min(least, smallest(x[lo:hi]))
	}
	//intra:section on(s.p)
	{
		i := 0
		parts[i] = first(x)
		switch {
		case len(x) > 1:
			parts[1] = first(x[1:])
			break
		}
		helper.Scale(2, w[:1])
	}
	//intra:section on(p) sched(replicate)
outer:
	for i := range 4 {
		for j := range 4 {
			if j > i {
				continue outer
			}
			if i == 3 {
				break outer
			}
			copyTo(x[i:], w[i*4+j:i*4+j+1])
		}
	}
	f := func(q *intra.Process) {
		//intra:section on(q)
		for lo, hi := range intra.Blocks(len(w), 4) {
			copyTo(x[lo:hi], w[lo:hi])
		}
	}
	f(p)
	return dot + least
}

func refused(p *intra.Process, c *comm.Comm, x, w []float64, m map[int]float64, ch chan int) (r float64) {
	var v, u float64
	var any any
	//intra:section on(p)
	for lo := range 4 {
		if lo == 3 {
			return 0
		}
		defer copyTo(x, w)
		go func() {}()
		ch <- 1
		<-ch
		close(ch)
		recover()
		c.Barrier()
		comm.Send(c, x, 0, 0)
		helper.Exchange(c, x)
		sum(x)
		n := sum(x)
		v = sum(x)
		v *= sum(x)
		v = max(v, smallest(x))
		v = 2 * sum(x)
		m[0] += sum(x)
		any = first(x)
		n += sum(x)
		u = first(x)
		copyTo(x, w)
		func() { copyTo(x, w) }()
		k := copyTo
		if copyTo(x, w); lo > 0 {
			k(x, w)
		}
		//intra:section on(p)
		for range 3 {
		}
	}
	//intra:section on(p)
	for range 2 {
		r += sum(x)
		x[0] = r
	}
	//intra:section on(p)
	for lo := range 4 {
		w[lo] = 1 // of a block that no task has yet
		copyTo(x[lo:lo+1], w[lo:lo+1])
		w[lo] = 0
		r = w[lo]
		r = x[lo] // tasks may share what they read
		x[lo] += 1
		r = w[lo+1]  // not of this task
		_ = w[lo+1:] // a slice touches nothing
	}
	for range 3 {
		//intra:section on(p)
		{
			break
		}
	}
	return r
}

func processes(p, q *intra.Process, x []float64, n int) {
	//intra:section
	{
	}
	//intra:section on(n)
	{
	}
	//intra:section on(nobody)
	{
	}
	//intra:section of(p)
	{
	}
	//intra:section on(p) sched(dynamic)
	{
	}
	//intra:section on(p)
	if n > 0 {
	}
	//intra:section on(p)

	for range 3 {
	}
	for range 3 { //intra:section on(p)
	}
}

func none(x []float64) {
	//intra:section
	{
	}
}

//intra:task in(x)
func here(x []float64) {}

type stepper interface{ step(x []float64) }

// relax calls a kernel, which then runs at once on every replica.
func relax(x, w []float64) { copyTo(x, w) }

func launchNothing(p *intra.Process, s stepper, kernel func(x, w []float64), x, w []float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		relax(x[lo:hi], w[lo:hi])
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		kernel(x[lo:hi], w[lo:hi])
	}
	//intra:section on(p)
	{
		s.step(x)
	}
	//intra:section on(p)
	for i := range w {
		w[i] = x[i]
	}
}

func nowait(p *intra.Process, x []float64) {
	//intra:section on(p) nowait
	for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
		copyTo(x, x[lo:hi])
	}
}

func keeps(p *intra.Process, x, w []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		copyTo(x[lo:hi], w[lo:hi])
	}
	return w[0]
}
