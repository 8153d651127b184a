// Package mesh has the functions of a window in another package.
package mesh

// Below is the first of two neighbours of point i, and Above is one more than the last.
func Below(ends []int32, i int) int { return int(ends[2*i]) }

func Above(ends []int32, i int) int { return int(ends[2*i+1]) }
