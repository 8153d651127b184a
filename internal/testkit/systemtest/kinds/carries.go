//go:build !intra

package main

import "github.com/intrahpc/intra"

// carries are programs in which a value passes from block to block, or from section to
// section. In the programs of the second part, the code of the section reads that value
// too early.
var carries = map[string]program{
	"prefixSum": func(p *intra.Process, a *arrays) error {
		sums := make([]float64, tasks)
		//intra:section on(p)
		for t := range tasks {
			sumOf(a.x[t*length/tasks:(t+1)*length/tasks], &sums[t])
		}
		for t := 1; t < tasks; t++ {
			sums[t] += sums[t-1]
		}
		//intra:section on(p)
		for t := range tasks {
			before := 0.0
			if t > 0 {
				before = sums[t-1]
			}
			carry(before, a.x[t*length/tasks:(t+1)*length/tasks])
		}
		return nil
	},
	"sectionForEachBlock": func(p *intra.Process, a *arrays) error {
		for lo, hi := range intra.Blocks(length, tasks) {
			before := 0.0
			if lo > 0 {
				before = a.y[lo-1]
			}
			//intra:section on(p)
			{
				carry(before, a.y[lo:hi])
			}
		}
		return nil
	},
	"foldedThenUsed": func(p *intra.Process, a *arrays) error {
		sum, most := a.s, 0.0
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			sum += total(a.x[lo:hi])
			most = max(most, largest(a.x[lo:hi]))
		}
		a.s = sum / most
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			scaled(a.x[lo:hi], a.s, a.y[lo:hi])
		}
		return nil
	},
	"halosBefore": func(p *intra.Process, a *arrays) error {
		left := make([]float64, tasks)
		for t := 1; t < tasks; t++ {
			left[t] = a.y[t*length/tasks-1]
		}
		//intra:section on(p)
		for t := range tasks {
			carry(left[t], a.y[t*length/tasks:(t+1)*length/tasks])
		}
		return nil
	},
	"readOnlyInSection": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			by := a.x[lo] // the tasks only read it
			scaled(a.x[lo:hi], by, a.y[lo:hi])
		}
		return nil
	},
	"twoArrays": func(p *intra.Process, a *arrays) error {
		from, to := a.x, a.y
		for range 3 {
			//intra:section on(p)
			for lo, hi := range intra.Blocks(length, tasks) {
				scaled(from[lo:hi], 0.5, to[lo:hi])
			}
			from, to = to, from
		}
		return nil
	},
	"counts": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			count(lo, a.n[lo:hi])
		}
		return nil
	},

	// In these programs the code of the section reads the value too early.
	"early": func(p *intra.Process, a *arrays) error {
		var before float64
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			if lo > 0 {
				before = get(a.y, lo-1)
			}
			carry(before, a.y[lo:hi])
		}
		return nil
	},
	"earlyCount": func(p *intra.Process, a *arrays) error {
		var before int
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			if lo > 0 {
				before = get(a.n, lo-1)
			}
			count(before, a.n[lo:hi])
		}
		return nil
	},
	"earlySum": func(p *intra.Process, a *arrays) error {
		r := &running{}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			r.sum += total(a.x[lo:hi])
			carry(r.now(), a.y[lo:hi])
		}
		return nil
	},
	"earlyComputed": func(p *intra.Process, a *arrays) error {
		by := 1.0
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			scaled(a.x[lo:hi], by, a.y[lo:hi])
			by = 1 + get(a.y, lo)/2
		}
		return nil
	},
	"refilled": func(p *intra.Process, a *arrays) error {
		buf := make([]float64, length/tasks)
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			move(buf, a.x[lo:hi])
			scaled(buf, 2, a.y[lo:hi])
		}
		return nil
	},
	"earlyWrite": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			scaled(a.x[lo:hi], 2, a.y[lo:hi])
			move(a.y[lo:lo+1], a.x)
		}
		return nil
	},
}

// running is a running sum.
type running struct{ sum float64 }

func (r *running) now() float64 { return r.sum }

func get[T any](s []T, i int) T { return s[i] }

func move(to, from []float64) { copy(to, from) }

// halve is the section of a worker.
func halve(p *intra.Process, x, y []float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(x), tasks) {
		scaled(x[lo:hi], 0.5, y[lo:hi])
	}
}
