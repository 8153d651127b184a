package main

import "math"

// noAggregate marks an unknown that is not coupled with any other.
const noAggregate = -1

// aggregate divides the unknowns of this rank into groups of neighbours. It returns the
// group of each unknown, and the number of groups. All entries of a, whose rows are the
// unknowns, count as strong couplings, but no group crosses ranks.
func aggregate(a *sparse) (group []int32, count int) {
	const open, joining = -2, -3 // the value joining - g means: joins group g at the end
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
	// An unknown without a neighbour in a group forms a new group with all of its
	// neighbours.
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
	// The others join the group of their first neighbour whose group was formed in this
	// way.
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
	// The remaining unknowns form groups with the remaining ones around them.
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

// tentative returns the interpolation from the groups to the unknowns, and the near-null
// vector of the coarser level. In each group the interpolation is proportional to near, a
// vector that the matrix maps nearly to zero. Its columns have the norm 1. Rows of other
// ranks are empty.
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

// damped computes the values of row i of I - omega·D⁻¹·F. F is a without the couplings to
// other ranks. The effect of these couplings on near is added to the diagonal D. The
// columns are those of a; values in columns of other ranks have no meaning. A row without
// couplings on this rank is that of I.
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
