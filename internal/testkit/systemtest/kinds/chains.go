package main

import "github.com/intrahpc/intra"

// chains are programs in which a value passes from block to block. Those of the second
// part pass it before the tasks have computed it.
var chains = map[string]program{
	"backwards": func(p *intra.Process, a *arrays) error {
		before := 0.0
		for t := tasks - 1; t >= 0; t-- {
			before = block(p, before, a.y[t*length/tasks:(t+1)*length/tasks]) / 2
		}
		return nil
	},
	"evenThenOdd": func(p *intra.Process, a *arrays) error {
		for parity := range 2 {
			for t := parity; t < tasks; t += 2 {
				block(p, a.y[(t*length/tasks+length-1)%length], a.y[t*length/tasks:(t+1)*length/tasks])
			}
		}
		return nil
	},
	"countedBefore": func(p *intra.Process, a *arrays) error {
		first := 0
		for i, n := range bins(p, a.x) {
			a.n[i] = first
			first += n
		}
		return nil
	},
	"scanOfSums": func(p *intra.Process, a *arrays) error {
		before := 0.0
		for t, sum := range sums(p, a.x) {
			a.y[t] = before
			before += sum
		}
		return nil
	},
	"ownSums": func(p *intra.Process, a *arrays) error {
		before := make([]float64, length)
		for t := 1; t < tasks; t++ {
			before[t*length/tasks] = a.y[t*length/tasks-1]
		}
		return carriesOn(func(_ *arrays, lo int) float64 { return before[lo] })(p, a)
	},
	"fromOtherArray": carriesOn(func(a *arrays, lo int) float64 { return a.x[(lo+length-1)%length] }),
	"doubling": func(p *intra.Process, a *arrays) error {
		for step := 1; step < length; step *= 2 {
			before := append(make([]float64, step), a.y[:length-step]...)
			halve(p, before, a.x)
			if err := changesPlaces(func(a *arrays, lo, hi int) (x, y []float64) { return a.x[lo:hi], a.y[lo:hi] })(p, a); err != nil {
				return err
			}
		}
		return nil
	},

	// In these programs the code of the section passes a value on before the tasks have computed
	// it.
	"earlyFold": carriesOn(func(a *arrays, lo int) (sum float64) {
		for _, v := range a.y[:lo] {
			sum += v
		}
		return sum
	}),
	"earlyChoice": carriesOn(func(a *arrays, lo int) float64 {
		if lo > 0 && a.y[lo-1] > 3 {
			return 1
		}
		return 2
	}),
	"earlyByName": carriesOn(func(a *arrays, lo int) float64 { return append([]float64{0}, a.y...)[lo] }),
	"earlyKept": carriesOn(func(a *arrays, lo int) float64 {
		if lo > 0 {
			a.s = a.y[lo-1]
		}
		return 1
	}),
	"changesLater": carriesOn(func(a *arrays, lo int) float64 { a.y[(lo+length/tasks)%length] += 1; return 1 }),
	"changesEarlier": carriesOn(func(a *arrays, lo int) float64 {
		if lo > 0 {
			a.y[lo-1] = 0
		}
		return 1
	}),
	"edges": changesPlaces(func(a *arrays, lo, hi int) (x, y []float64) { return a.y[max(lo-1, 0):][:1], a.y[max(lo, 1):hi] }),
	"onePlace": func(p *intra.Process, a *arrays) error {
		edge := make([]float64, 1)
		return changesPlaces(func(a *arrays, lo, hi int) (x, y []float64) {
			edge[0] = a.x[lo]
			return edge, a.y[lo:hi]
		})(p, a)
	},
}
