package update

// A section is mostly one loop, in which the k-th regions of the tasks are consecutive
// blocks of one array, or the same memory in all tasks. Such columns are found to be
// independent without sorting, and without comparing all pairs of spans.

// column is the k-th region of every task.
type column struct {
	class  class
	lo, hi uintptr // of all spans together; lo is above hi if all are empty
}

// mostColumns bounds the number of columns that are compared.
const mostColumns = 16

// columnar reports whether the spans of n tasks, in the order of tasks and of regions,
// including empty ones, are independent by their columns alone. If it returns false, they
// may still be independent.
func columnar(spans []span, n int) bool {
	if n == 0 || len(spans)%n != 0 || len(spans)/n > mostColumns {
		return false
	}
	width := len(spans) / n
	var columns [mostColumns]column
	for k := range width {
		c := column{class: classOf(spans[k].region.Mode), lo: ^uintptr(0)}
		for i := k; i < len(spans); i += width {
			s := &spans[i]
			if s.task != i/width || classOf(s.region.Mode) != c.class {
				return false
			}
			if s.lo < s.hi {
				c.lo, c.hi = min(c.lo, s.lo), max(c.hi, s.hi)
			}
		}
		columns[k] = c
		for l := range k + 1 {
			o := &columns[l]
			if c.class.conflicts(o.class) && (l == k || c.lo < o.hi && o.lo < c.hi) && !blockwise(spans, width, k, l) {
				return false
			}
		}
	}
	return true
}

// blockwise reports whether the spans of each task in columns k and l lie behind those of
// all earlier tasks there.
func blockwise(spans []span, width, k, l int) bool {
	reach := uintptr(0)
	for i := 0; i < len(spans); i += width {
		next := reach
		for _, s := range [2]*span{&spans[i+k], &spans[i+l]} {
			if s.lo == s.hi {
				continue
			}
			if s.lo < reach {
				return false
			}
			next = max(next, s.hi)
		}
		reach = next
	}
	return true
}
