package kept

import (
	"math/bits"
	"slices"
)

// Plan is the agreement of both replicas for the interval between two settled points.
type Plan struct {
	Types []uint64 // types of sections whose results stay where they were computed, ascending
	Share uint16   // replica 0 owns Share/65536 of the tasks of such a section
	Next  uint64   // the settled point that ends the interval
}

// keeps reports whether the results of sections of a type are kept.
func (p *Plan) keeps(kind uint64) bool {
	_, ok := slices.BinarySearch(p.Types, kind)
	return ok
}

// owner returns the replica that runs a task of a kept section. Each replica owns one block.
func (p *Plan) owner(task, tasks int) int {
	if uint64(task) < (uint64(tasks)*uint64(p.Share)+1<<15)>>16 {
		return 0
	}
	return 1
}

// Proposal is the plan that a replica proposes at a settled point, from its measurements,
// for the next interval but one.
type Proposal struct {
	Types  []uint64 // types of sections whose results it would keep, ascending
	Speed  uint64   // its speed in these sections; only the ratio to the sibling's speed matters
	Points uint64   // length of the interval; short enough for a young image and a small log
}

// combine returns the plan for the interval that begins at a settled point. It depends
// only on the proposals of both replicas.
func combine(at uint64, by [2]Proposal) Plan {
	p := Plan{Share: 1 << 15, Next: at + max(1, min(by[0].Points, by[1].Points))}
	for _, kind := range by[0].Types {
		if _, ok := slices.BinarySearch(by[1].Types, kind); ok {
			p.Types = append(p.Types, kind)
		}
	}
	if a, b := by[0].Speed, by[1].Speed; a > 0 && b > 0 {
		for bits.Len64(a) > 40 || bits.Len64(b) > 40 {
			a, b = a>>1, b>>1
		}
		p.Share = uint16(min(a<<16/(a+b), 1<<16-1))
	}
	return p
}
