// Is is the kernel IS of the NAS Parallel Benchmarks, a sort of integers: ten times
// it finds the rank of each of many keys, the number of smaller ones.
//
// Keys belong to buckets of equal width. Each rank orders its keys by bucket, all
// ranks cut the buckets into runs that hold about as many keys, and exchange keys so
// that each rank has all those of its run. Their numbers depend on the data.
//
// A rank orders its keys in blocks, which are the tasks of one section. In another
// one the tasks are ranges of buckets: each counts the keys of every value there,
// which no other task does.
//
//	intrarun -n 2 -r 2 ./examples/npb/is -class W
package main
