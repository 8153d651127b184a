package kept

import (
	"github.com/intrahpc/intra/update"
)

// A program describes what the ranks of a simulated job do. All operations have a global
// order in which the oracle runs them one by one. So the ranks cannot deadlock.
type program struct {
	ranks    []rankProgram
	order    []int // ranks in the global order of their operations
	points   uint64
	contexts uint64
}

type rankProgram struct {
	sizes      []uint64 // sizes of the arrays; the first array is control state, the last one holds partial results
	registered []bool
	ops        []op
}

// cells returns the index of the array for the partial results of reductions.
func (r *rankProgram) cells() int { return len(r.sizes) - 1 }

// part is a part of an array.
type part struct {
	array  int
	lo, hi uint64
}

type opKind int

const (
	section opKind = iota
	send
	waitSends
	post
	waitReceive
	fetch
	line
	once
	makeContext
	freeContext
	safePoint
	finish
)

type op struct {
	kind  opKind
	part  part // the buffer
	ctx   uint64
	peer  int // -1: any source
	tag   int
	large bool
	id    int // number of a receive
	point uint64
	tasks []task
	typ   uint64
	other bool
}

type task struct {
	regions []region
	salt    uint64
}

// region is memory that a task names, and the part of it that the task reads.
type region struct {
	mode  update.Mode
	named part
	reads part
	full  bool
}

// signature returns the signature of a section.
func (o *op) signature() (sig uint64) {
	for _, t := range o.tasks {
		sig = mix(sig, t.salt)
	}
	return sig
}

// body runs a task.
func (t *task) body(mem [][]uint64, control uint64) {
	sum := mix(t.salt, control)
	for _, x := range t.regions {
		for i := x.reads.lo; i < x.reads.hi; i++ {
			sum = mix(sum, mem[x.reads.array][i])
		}
	}
	for n, x := range t.regions {
		if !x.mode.Written() {
			continue
		}
		for i := x.named.lo; i < x.named.hi; i++ {
			if x.mode == update.Out && !x.full && (i+t.salt)%3 == 0 {
				continue // the value stays
			}
			mem[x.named.array][i] = mix(sum, uint64(n)<<32|i)
		}
	}
}

// fold adds the partial results of a section to the control state.
func (r *rankProgram) fold(o *op, mem [][]uint64) {
	for t := range o.tasks {
		for _, x := range o.tasks[t].regions {
			if x.mode == update.Reduce {
				mem[0][0] = mix(mem[0][0], mem[x.named.array][x.named.lo])
			}
		}
	}
}
