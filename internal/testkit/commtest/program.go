package commtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/intrahpc/intra/comm"
)

// World is the environment of the steps of a random program.
type World struct {
	Comm *comm.Comm
	Plan *rand.Rand // the same numbers at every replica of every rank
	Sum  uint64     // sum of the values that the rank has observed

	steps []Step
}

// Step is a part of a program. All ranks of the communicator take it.
type Step func(w *World) error

// Run carries out length random steps. The seed chooses them among those of this package
// and others. Run returns the sum of the values that the rank observed. The sum equals that
// of a run without replicas.
func Run(c *comm.Comm, seed uint64, length int, others ...Step) (uint64, error) {
	w := &World{Comm: c, Plan: rand.New(rand.NewPCG(seed, 77)), steps: slices.Concat(others, messages)}
	for range length {
		step := split
		if k := w.Plan.IntN(len(w.steps) + 1); k < len(w.steps) {
			step = w.steps[k]
		}
		if err := step(w); err != nil {
			return 0, err
		}
	}
	return w.Sum, nil
}

// messages are the steps that send messages.
var messages = []Step{chain, chain, ring, scatterShot, fanIn, flood, isendSsend, eachWay, collectives, collectives, overlapped, halo}

// split takes two steps in a new communicator.
func split(w *World) error {
	var sub *comm.Comm
	var err error
	if k := w.Plan.IntN(3); k == 0 {
		sub, err = w.Comm.Dup()
	} else {
		sub, err = w.Comm.Split(w.Comm.Rank()%k, -w.Comm.Rank())
	}
	if err != nil {
		return err
	}
	in := &World{Comm: sub, Plan: rand.New(rand.NewPCG(w.Plan.Uint64(), 1)), Sum: w.Sum, steps: w.steps}
	for range 2 {
		if err := in.steps[in.Plan.IntN(len(in.steps))](in); err != nil {
			return err
		}
	}
	w.Observe([]int{int(in.Sum)})
	return sub.Free()
}

// Observe adds values to the sum.
func (w *World) Observe(vs ...any) {
	for _, v := range vs {
		switch v := v.(type) {
		case []uint64:
			for _, x := range v {
				w.mix(x)
			}
		case []uint32:
			for _, x := range v {
				w.mix(uint64(x))
			}
		case []int:
			for _, x := range v {
				w.mix(uint64(x))
			}
		case []Affine:
			for _, x := range v {
				w.mix(x.A)
				w.mix(x.B)
			}
		case []float64:
			for _, x := range v {
				w.mix(math.Float64bits(x))
			}
		case comm.Status:
			w.Observe([]int{v.Source, v.Tag, v.Count})
		default:
			panic(fmt.Sprintf("cannot observe a %T", v))
		}
	}
}

func (w *World) mix(x uint64) {
	w.Sum = (w.Sum ^ x) * 0x9e3779b97f4a7c15
	w.Sum ^= w.Sum >> 29
}

// payload returns the i-th message of rank src in a step.
func payload(src, i, size int) []uint32 {
	p := make([]uint32, size+2)
	p[0], p[1] = uint32(src), uint32(i)
	for k := range size {
		p[k+2] = uint32(src*31 + i*7 + k)
	}
	return p
}

func check(p []uint32, src, i int) error {
	if len(p) < 2 || int(p[0]) != src || int(p[1]) != i {
		return fmt.Errorf("got %v..., want message %d of rank %d", p[:min(4, len(p))], i, src)
	}
	for k, v := range p[2:] {
		if v != uint32(src*31+i*7+k) {
			return fmt.Errorf("message %d of rank %d: word %d is %d", i, src, k, v)
		}
	}
	return nil
}

var sizes = []int{0, 1, 5, 20, 100, 700}

func (w *World) size() int { return sizes[w.Plan.IntN(len(sizes))] }
