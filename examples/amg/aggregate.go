package main

import "math"

// noAggregate marks an unknown that is coupled with no other one.
const noAggregate = -1

// aggregate puts the unknowns of this rank into groups of neighbours and returns the
// number of the group of each, and how many there are. All entries of a, whose rows
// are the unknowns, count as strong couplings, but no group crosses ranks.
func aggregate(a *sparse) (group []int32, count int) {
	const open, joining = -2, -3 // joining - g: joins group g at the end
	n := a.rows()
	group = make([]int32, n)
	for i := range group {
		group[i] = open
	}
	own := func(i int, f func(j int32) (more bool)) {
		col, _ := a.row(i)
		for _, j := range col {
			if int(j) < n && int(j) != i && !f(j) {
				return
			}
		}
	}
	found := func(i int) {
		group[i] = int32(count)
		own(i, func(j int32) bool {
			if group[j] == open {
				group[j] = int32(count)
			}
			return true
		})
		count++
	}
	// An unknown without a neighbour in a group founds one with all of its neighbours.
	for i := range group {
		neighbours, free := 0, true
		own(i, func(j int32) bool {
			neighbours++
			free = group[j] < 0
			return free
		})
		switch {
		case group[i] != open:
		case a.ptr[i+1]-a.ptr[i] <= 1:
			group[i] = noAggregate
		case neighbours > 0 && free:
			found(i)
		}
	}
	// The others join the group of the first neighbour that got into one in this way.
	for i := range group {
		if group[i] == open {
			own(i, func(j int32) bool {
				if group[j] >= 0 {
					group[i] = joining - group[j]
				}
				return group[j] < 0
			})
		}
	}
	// The rest founds groups with the unknowns that are left around it.
	for i := range group {
		if group[i] == open {
			found(i)
		}
	}
	for i, g := range group {
		if g <= joining {
			group[i] = joining - g
		}
	}
	return group, count
}

// tentative returns the interpolation from groups that is constant in each, as near
// is, which the matrix takes nearly to zero, and what near is on the coarser level:
// the columns have the norm 1. Rows of other ranks are empty.
func tentative(group []int32, count int, near []float64) (t *sparse, coarse []float64) {
	coarse = make([]float64, count)
	t = &sparse{cols: count, ptr: make([]int64, len(near)+1), col: make([]int32, 0, len(group)), val: make([]float64, 0, len(group))}
	for i, g := range group {
		if g != noAggregate {
			coarse[g] += float64(near[i] * near[i])
		}
	}
	for g, square := range coarse {
		coarse[g] = math.Sqrt(square)
	}
	for i := range near {
		if i < len(group) && group[i] != noAggregate {
			t.col, t.val = append(t.col, group[i]), append(t.val, near[i]/coarse[group[i]])
		}
		t.ptr[i+1] = int64(len(t.col))
	}
	return t, coarse
}

// damped computes the values of row i of I - omega·D⁻¹·F, where F is a without couplings
// to other ranks: what they take from near is added to its diagonal D. The columns are
// those of a; values in those of other ranks mean nothing. A row without own couplings is
// that of I.
func damped(a *sparse, i int, near []float64, omega float64, out []float64) {
	col, val := a.row(i)
	diagonal, at, alone := 0.0, 0, true
	for k, c := range col {
		switch {
		case int(c) == i:
			diagonal, at = diagonal+val[k], k
		case int(c) >= a.rows():
			diagonal += float64(val[k] * near[c] / near[i])
		default:
			alone = false
		}
	}
	if alone {
		clear(out)
		out[at] = 1
		return
	}
	for k, v := range val {
		out[k] = -omega * v / diagonal
	}
	out[at] = 1 - omega
}
