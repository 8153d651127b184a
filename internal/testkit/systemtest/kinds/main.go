// Kinds contains many small programs of the kinds that are difficult with replicas:
// kernels that write an array by another name, functions with and without state, carries
// from block to block, and masters that give work to the rank that asks first. Its
// arguments name the programs to run. For each program rank 0 prints a digest of the
// results of all ranks.
package main

import (
	"fmt"
	"maps"
	"math"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// arrays are the data of a program.
type arrays struct {
	x, y []float64
	n    []int
	s    float64
}

// length is the length of each array, and tasks is the number of blocks of a section.
const (
	length = 54
	tasks  = 6
)

func main() {
	intra.Main(func(p *intra.Process) error {
		digests := make([]uint64, p.Size())
		for _, name := range os.Args[1:] {
			run, known := all()[name]
			if !known {
				return fmt.Errorf("no program %s", name)
			}
			a := start(p.Rank())
			for range 3 {
				if err := run(p, a); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if err := p.World().Barrier(); err != nil {
					return err
				}
			}
			if err := comm.Allgather(p.World(), []uint64{a.digest()}, digests); err != nil {
				return err
			}
			if p.Rank() == 0 {
				fmt.Printf("%s: %016x\n", name, digests)
			}
		}
		return nil
	})
}

// all returns the programs by name.
func all() map[string]program {
	programs := maps.Clone(aliases)
	maps.Copy(programs, functions)
	maps.Copy(programs, carries)
	maps.Copy(programs, masters)
	maps.Copy(programs, aliased)
	maps.Copy(programs, closures)
	maps.Copy(programs, chains)
	maps.Copy(programs, farms)
	return programs
}

type program = func(p *intra.Process, a *arrays) error

func start(rank int) *arrays {
	a := &arrays{x: make([]float64, length), y: make([]float64, length), n: make([]int, length), s: 1}
	for i := range a.x {
		a.x[i] = 2 + math.Sin(float64(i*(rank+1)))
		a.y[i] = 1 + math.Cos(float64(i+rank))
		a.n[i] = (i*7 + rank) % 5
	}
	return a
}

func (a *arrays) digest() (h uint64) {
	add := func(v uint64) {
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for i := range a.x {
		add(math.Float64bits(a.x[i]))
		add(math.Float64bits(a.y[i]))
		add(uint64(a.n[i]))
	}
	add(math.Float64bits(a.s))
	return h
}
