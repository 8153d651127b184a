// Is is the kernel IS of the NAS Parallel Benchmarks, a sort of integers. Ten times it
// computes the rank of each of many keys, which is the number of smaller keys.
//
// Keys belong to buckets of equal width. Each rank orders its keys by bucket. All ranks
// divide the buckets into runs with approximately equal numbers of keys, and exchange keys
// so that each rank has all keys of its run. The sizes of the messages depend on the data.
//
// A rank orders its keys in blocks, which are the tasks of one section. In another section
// the tasks are ranges of buckets. Each task counts the keys of every value in its range.
//
//	intrarun -n 2 -r 2 ./examples/npb/is -class W
package main
