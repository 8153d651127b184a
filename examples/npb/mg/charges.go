package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// perSign is the number of positive charges, and of negative charges.
const perSign = 10

// candidate is a point and its random number.
type candidate struct {
	value float64
	at    int64 // number among all points of the grid
}

// extremes are the candidates with the smallest values, ascending, and those with the
// largest ones, descending.
type extremes [2][perSign]candidate

// charges are the points with the largest of all random numbers, and with the
// smallest.
type charges struct{ positive, negative [perSign]int64 }

// findCharges collects the extremes of all ranks on a grid of n³ points, and returns the
// charges.
func (b *box) findCharges(n int) (found charges, err error) {
	own := b.find(n)
	all := make([]extremes, b.c.Size())
	if err := comm.Allgather(b.c, []extremes{own}, all); err != nil {
		return found, fmt.Errorf("find the charges: %w", err)
	}
	var smallest, largest []candidate
	for _, e := range all {
		smallest, largest = append(smallest, e[0][:]...), append(largest, e[1][:]...)
	}
	slices.SortFunc(smallest, func(p, q candidate) int { return cmp.Compare(p.value, q.value) })
	slices.SortFunc(largest, func(p, q candidate) int { return cmp.Compare(q.value, p.value) })
	for i := range perSign {
		found.negative[i], found.positive[i] = smallest[i].at, largest[i].at
	}
	return found, nil
}

// place sets v to the charges in the box: 1, -1, and 0 elsewhere.
func (b *box) place(v []float64, n int, all charges) {
	clear(v)
	set := func(at int64, charge float64) {
		o, s := b.origin(), b.shape
		x, y, z := int(at)%n-o[0], int(at)/n%n-o[1], int(at)/n/n-o[2]
		if min(x, y, z) >= 0 && x < s.nx && y < s.ny && z < s.nz {
			v[(z+1)*s.plane()+(y+1)*s.row()+x+1] = charge
		}
	}
	for i := range perSign {
		set(all.positive[i], 1)
		set(all.negative[i], -1)
	}
}

// find returns the extremes of the box on a grid of n³ points. If the box has too few
// points, the remaining values are 0 or 1, which are no random numbers.
func (b *box) find(n int) (e extremes) {
	for i := range perSign {
		e[0][i], e[1][i] = candidate{1, 0}, candidate{0, 0}
	}
	o, s := b.origin(), b.shape
	for z := range s.nz {
		for y := range s.ny {
			first := ((o[2]+z)*n+o[1]+y)*n + o[0]
			r := nas.Seed.After(first)
			for x := range s.nx {
				c := candidate{r.Next(), int64(first + x)}
				if c.value < e[0][perSign-1].value {
					insert(&e[0], c, func(p, q candidate) bool { return p.value < q.value })
				}
				if c.value > e[1][perSign-1].value {
					insert(&e[1], c, func(p, q candidate) bool { return p.value > q.value })
				}
			}
		}
	}
	return e
}

// insert inserts a candidate at its position in a list, and drops the last one.
func insert(list *[perSign]candidate, c candidate, before func(p, q candidate) bool) {
	i := perSign - 1
	for ; i > 0 && before(c, list[i-1]); i-- {
		list[i] = list[i-1]
	}
	list[i] = c
}
