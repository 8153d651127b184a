// Package reductions has partial results of every kind: in slices, variables
// and arrays, by every operator, and several in one kernel.
package reductions

//go:generate go tool intragen

// assign gives each point, of dim numbers, to its nearest centre, and adds it
// to the sum of that one. part is as long as sums.
//
//intra:task in(points, centres, dim) out(nearest) reduce(+: sums, counts) reduce(max: farthest) scratch(part)
func assign(points, centres []float64, dim int, nearest []int32, sums, part []float64, counts []int64, farthest *float64) {
	clear(part)
	for i := range nearest {
		point := points[i*dim : (i+1)*dim]
		best, at := -1.0, 0
		for c := range len(centres) / dim {
			d := distance(point, centres[c*dim:(c+1)*dim])
			if best < 0 || d < best {
				best, at = d, c
			}
		}
		nearest[i] = int32(at)
		counts[at]++
		for k, x := range point {
			part[at*dim+k] += x
		}
		*farthest = max(*farthest, best)
	}
	for i, x := range part {
		sums[i] += x
	}
}

func distance(a, b []float64) (d float64) {
	for k, x := range a {
		d += float64((x - b[k]) * (x - b[k]))
	}
	return d
}

// census has an array, bits, and what is true of all or of any.
//
//intra:task in(x) reduce(+: histogram) reduce(|: seen) reduce(&: common) reduce(^: parity) reduce(&&: all) reduce(||: some)
func census(x []uint64, histogram *[8]int32, seen, common, parity *uint64, some *bool) (all bool) {
	all = true
	for _, v := range x {
		histogram[v%8]++
		*seen |= v
		*common &= v
		*parity ^= v
		*some = *some || v == 77
		all = all && v < 1000
	}
	return all
}

// Extent is how far something reaches; its zero value is nowhere.
type Extent struct {
	Lo, Hi float64
	Any    bool
}

func join(a, b Extent) Extent {
	switch {
	case !a.Any:
		return b
	case !b.Any:
		return a
	}
	return Extent{min(a.Lo, b.Lo), max(a.Hi, b.Hi), true}
}

// extents finds how far the points reach in each dimension.
//
//intra:task in(points) reduce(join: e)
func extents(points []float64, e []Extent) {
	for i, x := range points {
		k := i % len(e)
		e[k] = join(e[k], Extent{x, x, true})
	}
}

// products is generic.
//
//intra:task in(x) reduce(*: p) reduce(min: least)
func products[T ~float32 | ~float64](x []T, p, least []T) {
	for i := range p {
		q := T(1)
		for _, v := range x {
			q *= 1 + v/T(1000+i)
			least[i] = min(least[i], v)
		}
		p[i] *= q
	}
}

//intra:task in(x) reduce(|: bits)
func bitsOf(x []uint64) (bits uint64) {
	for _, v := range x {
		bits |= v
	}
	return bits
}
