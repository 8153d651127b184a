//go:build !intra

package main

import (
	"math"
	"math/rand"

	"github.com/intrahpc/intra"
)

// aliases are programs whose kernels write y by another name.
var aliases = map[string]program{
	"named": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			named(a.y[lo:hi])
		}
		return nil
	},
	"around": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			around(a.y[lo:hi])
		}
		return nil
	},
	"heaped": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			heaped(a.y[lo:hi])
		}
		return nil
	},
	"sorted": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			sorted(a.y[lo:hi])
		}
		return nil
	},
	"deleted": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			deleted(a.y[lo:hi])
		}
		return nil
	},
	"shifted": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			shifted(a.y[lo:hi])
		}
		return nil
	},
	"deferred": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			deferred(a.y[lo:hi])
		}
		return nil
	},
	"promoted": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			promoted(a.y[lo:hi])
		}
		return nil
	},
	"arrayPointer": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			arrayPointer(a.y[lo:hi])
		}
		return nil
	},
	"asBytes": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			asBytes(a.y[lo:hi])
		}
		return nil
	},
	"pulls": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			pulls(a.y[lo:hi])
		}
		return nil
	},
	"several": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			several(a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"inTable": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			inTable(a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"paired": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			paired(a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"recursive": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			recursive(a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"linked": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			linked(a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"pingPong": func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			pingPong(a.x[lo:hi], a.y[lo:hi], make([]float64, hi-lo))
		}
		return nil
	},
}

// functions are programs whose kernels get functions in in. Those of the second part keep
// state.
var functions = map[string]program{
	"adder": func(p *intra.Process, a *arrays) error {
		f := adder(a.s)
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"composed": func(p *intra.Process, a *arrays) error {
		f := composed(adder(2), math.Sqrt)
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"power": func(p *intra.Process, a *arrays) error {
		f := power(3)
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"polynomial": func(p *intra.Process, a *arrays) error {
		f := polynomial{1, 2, 3}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"methodValue": func(p *intra.Process, a *arrays) error {
		f := polynomial{4, 5}.eval
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"worker": func(p *intra.Process, a *arrays) error {
		f := &worker{}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"workerFunction": func(p *intra.Process, a *arrays) error {
		f := (&worker{}).eval
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"adapter": func(p *intra.Process, a *arrays) error {
		f := adapter(adder(1))
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"choice": func(p *intra.Process, a *arrays) error {
		f := choice{polynomial{1, 0}, adapter(math.Sqrt)}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"functions": func(p *intra.Process, a *arrays) error {
		f := []func(float64) float64{adder(1), math.Abs, power(2)}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			applyAll(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},

	// With state.
	"sequence": func(p *intra.Process, a *arrays) error {
		f := &sequence{}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"recorder": func(p *intra.Process, a *arrays) error {
		f := &recorder{}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"memo": func(p *intra.Process, a *arrays) error {
		f := &memo{map[float64]float64{}}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"noise": func(p *intra.Process, a *arrays) error {
		f := noise{rand.New(rand.NewSource(1))}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"previous": func(p *intra.Process, a *arrays) error {
		f := previous{&a.s}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"toggle": func(p *intra.Process, a *arrays) error {
		f := toggle()
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"chosenSequence": func(p *intra.Process, a *arrays) error {
		f := choice{&sequence{}, polynomial{1}}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			evaluate(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"toggleIn": func(p *intra.Process, a *arrays) error {
		f := []func(float64) float64{adder(1), toggle()}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			applyAll(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	},
	"counter": func(p *intra.Process, a *arrays) error {
		f, calls := counter()
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		a.s += float64(*calls)
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			scaled(a.x[lo:hi], a.s, a.y[lo:hi])
		}
		return nil
	},
}

// carries are programs in which something passes from block to block, or from section to
// section. In those of the second part section code reads it too early.
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
			by := a.x[lo] // only read by the tasks
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

	// Too early.
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

// running is a sum.
type running struct{ sum float64 }

func (r *running) now() float64 { return r.sum }

func get[T any](s []T, i int) T { return s[i] }

func move(to, from []float64) { copy(to, from) }

// halve is a section of a worker.
func halve(p *intra.Process, x, y []float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(x), tasks) {
		scaled(x[lo:hi], 0.5, y[lo:hi])
	}
}
