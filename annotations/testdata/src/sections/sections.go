//go:build !intra

package sections

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"helper"
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
			return 0 // want `return inside //intra:section: the section has to reach its end`
		}
		defer copyTo(x, w)        // want `defer inside //intra:section` `the call of kernel copyTo is part of another statement`
		go func() {}()            // want `go statement inside //intra:section`
		ch <- 1                   // want `channel send inside //intra:section`
		<-ch                      // want `channel receive inside //intra:section`
		close(ch)                 // want `close of a channel inside //intra:section`
		recover()                 // want `recover inside //intra:section`
		c.Barrier()               // want `message passing inside //intra:section \(comm.Comm.Barrier\)`
		comm.Send(c, x, 0, 0)     // want `message passing inside //intra:section \(comm.Send\)`
		helper.Exchange(c, x)     // want `Exchange passes messages \(calls comm.Send, which passes messages\) and is called inside`
		sum(x)                    // want `the result of kernel sum is lost; write v \+= sum\(…\)`
		n := sum(x)               // want `the result of kernel sum comes when the section ends; declare its variable before the section and write v \+= sum\(…\)`
		v = sum(x)                // want `kernel sum is called as v \+= sum\(…\) inside a section`
		v *= sum(x)               // want `kernel sum is called as v \+= sum\(…\) inside a section`
		v = max(v, smallest(x))   // want `kernel smallest is called as v = min\(v, smallest\(…\)\) inside a section`
		v = 2 * sum(x)            // want `the result of kernel sum is used before the section ends`
		m[0] += sum(x)            // want `m\[0\] takes the result of a kernel and has no address`
		any = first(x)            // want `any has type any and takes a result of type float64`
		n += sum(x)               // want `n takes a result when the section ends; declare n before the section`
		u = first(x)              // want `every turn of the loop writes u; give each its own element, or use reduce`
		copyTo(x, w)              // want `every turn of the loop launches a task that writes all of w; give each task its part, as in w\[lo:hi\]`
		func() { copyTo(x, w) }() // want `kernel copyTo is called in a function literal inside //intra:section`
		k := copyTo               // want `kernel copyTo is used as a value inside //intra:section`
		if copyTo(x, w); lo > 0 { // want `the call of kernel copyTo is part of another statement`
			k(x, w)
		}
		//intra:section on(p) // want `//intra:section inside the section at line \d+; sections do not nest` `//intra:section launches nothing`
		for range 3 {
		}
	}
	//intra:section on(p)
	for range 2 {
		r += sum(x)
		x[0] = r // want `x\[0\] is written here after a task of kernel sum that uses it was launched` `r is used inside the section, but gets its value from the tasks when the section ends`
	}
	//intra:section on(p)
	for lo := range 4 {
		w[lo] = 1 // an element of a block without a task yet
		copyTo(x[lo:lo+1], w[lo:lo+1])
		w[lo] = 0    // want `w\[lo\] is written here after a task of kernel copyTo that uses it was launched; write it after the section`
		r = w[lo]    // want `w\[lo\] is used here after a task of kernel copyTo that writes it was launched; it has its value after the section`
		r = x[lo]    // tasks may share memory that they only read
		x[lo] += 1   // want `x\[lo\] is written here after a task of kernel copyTo that uses it was launched`
		r = w[lo+1]  // not an element of this task
		_ = w[lo+1:] // a slice expression accesses no element
	}
	for range 3 {
		//intra:section on(p)
		{
			break // want `break leaves //intra:section`
		}
	}
	return r
}

func processes(p, q *intra.Process, x []float64, n int) {
	//intra:section // want `//intra:section sees several variables of type \*intra.Process \(p, q\); say which one with on\(p\)`
	{
	}
	//intra:section on(n) // want `clause on: n has type int, want \*intra.Process`
	{
	}
	//intra:section on(nobody) // want `clause on: nobody is not declared here`
	{
	}
	//intra:section of(p) // want `unknown clause "of" of //intra:section \(did you mean on\?\)`
	{
	}
	//intra:section on(p) sched(dynamic) // want `unknown schedule dynamic`
	{
	}
	//intra:section on(p) // want `//intra:section stands above a block or for statement, not above this if statement; put \{ \} around what belongs to the section`
	if n > 0 {
	}
	//intra:section on(p) // want `//intra:section has no block or for statement on the line below it and has no effect`

	for range 3 {
	}
	for range 3 { //intra:section on(p) // want `//intra:section stands alone on the line directly above a block or for statement`
	}
}

func none(x []float64) {
	//intra:section // want `//intra:section sees no parameter or local variable of type \*intra.Process; say which process with on\(p\)`
	{
	}
}

//intra:task in(x) // want `kernel here stands in a file with //intra:section; move it to a file without sections`
func here(x []float64) {}

type stepper interface{ step(x []float64) }

// relax calls a kernel. The kernel then runs at once, on every replica.
func relax(x, w []float64) { copyTo(x, w) }

func launchNothing(p *intra.Process, s stepper, kernel func(x, w []float64), x, w []float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		relax(x[lo:hi], w[lo:hi]) // want `//intra:section launches nothing: relax has no //intra:task directive, so every replica runs all of it; annotate it, or write the calls of the kernels in it here`
	}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		kernel(x[lo:hi], w[lo:hi]) // want `//intra:section launches nothing: kernel is a function value, which is called at once on every replica; call the kernel by its name`
	}
	//intra:section on(p)
	{
		s.step(x) // want `//intra:section launches nothing: s.step is a method of an interface, which is called at once on every replica; call the kernel on the type that has it`
	}
	//intra:section on(p) // want `//intra:section launches nothing: it calls no function that has an //intra:task directive; put the work into one, or leave the section out`
	for i := range w {
		w[i] = x[i]
	}
}
