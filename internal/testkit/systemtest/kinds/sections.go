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

// functions are programs whose kernels take functions as arguments, and name them in a clause in.
// Some of these functions keep state.
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

	// These arguments have state.
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
