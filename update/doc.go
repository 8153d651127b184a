// Package update knows the memory of tasks: regions of pointer-free types,
// whether regions of different tasks overlap, the signature by which replicas
// compare what they launched, snapshots of memory that a torn update could
// spoil, and the frames that carry a task's results between replicas.
//
// Programs do not import it; they build regions with package runtime.
package update
