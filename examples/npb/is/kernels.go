package main

import "github.com/intrahpc/intra/examples/npb/internal/nas"

// draw makes keys less than below, each from four random numbers. first is the number of
// the first one among all keys.
//
//intra:task in(first, below) out(keys)
func draw(first, below int, keys []int32) {
	r := nas.Seed.After(4 * first)
	scale := float64(below / 4)
	for i := range keys {
		sum := r.Next() + r.Next()
		sum += r.Next()
		sum += r.Next()
		keys[i] = int32(scale * sum)
	}
}

// mostBuckets is the maximum number of buckets.
const mostBuckets = 1 << 10

// order puts keys in the order of their buckets, and counts the keys in each bucket.
//
//intra:task in(keys, shift) out(ordered, counts)
func order(keys []int32, shift int, ordered, counts []int32) {
	var next [mostBuckets]int32
	for _, key := range keys {
		next[uint32(key)>>shift%mostBuckets]++
	}
	first := int32(0)
	for bucket := range counts {
		counts[bucket] = next[bucket]
		next[bucket], first = first, first+next[bucket]
	}
	for _, key := range keys {
		at := &next[uint32(key)>>shift%mostBuckets]
		ordered[*at] = key
		*at++
	}
}

// rank computes the rank of each value in the buckets first to end-1, whose first value is lowest.
// The rank is the number of smaller keys. smaller is the number of keys in lower buckets. For each
// run of keys, bounds holds where its buckets begin.
//
//intra:task in(runs, bounds, buckets, first, end, lowest, smaller) out(ranks)
func rank(runs [][]int32, bounds []int32, buckets, first, end, lowest, smaller int, ranks []int32) {
	clear(ranks)
	for i, run := range runs {
		at := bounds[i*(buckets+1):]
		for _, key := range run[at[first]:at[end]] {
			ranks[int(key)-lowest]++
		}
	}
	sum := int32(smaller)
	for i, n := range ranks {
		ranks[i] = sum
		sum += n
	}
}
