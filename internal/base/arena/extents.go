package arena

import "slices"

// extents are the free ranges of an area, in order. No two ranges are adjacent.
type extents []extent

type extent struct{ at, size int }

// take takes a range of that size. A range of at least a large page begins skew bytes
// after a multiple of the page size, like the memory over which it is mapped. Only then
// can the system use large pages for it.
func (e *extents) take(size, skew int) (at int, ok bool) {
	for i, x := range *e {
		at = x.at
		if size >= pageSize {
			at += ((skew-x.at)%pageSize + pageSize) % pageSize
		}
		if at+size > x.at+x.size {
			continue
		}
		var rest []extent
		if at > x.at {
			rest = append(rest, extent{x.at, at - x.at})
		}
		if end := at + size; end < x.at+x.size {
			rest = append(rest, extent{end, x.at + x.size - end})
		}
		*e = slices.Replace(*e, i, i+1, rest...)
		return at, true
	}
	return 0, false
}

// put makes a range free again.
func (e *extents) put(at, size int) {
	i, _ := slices.BinarySearchFunc(*e, at, func(x extent, at int) int { return x.at - at })
	*e = slices.Insert(*e, i, extent{at, size})
	if i+1 < len(*e) && at+size == (*e)[i+1].at {
		(*e)[i].size += (*e)[i+1].size
		*e = slices.Delete(*e, i+1, i+2)
	}
	if i > 0 && (*e)[i-1].at+(*e)[i-1].size == at {
		(*e)[i-1].size += (*e)[i].size
		*e = slices.Delete(*e, i, i+1)
	}
}
