// Package update handles the memory of tasks: regions of pointer-free types, overlaps
// between regions of different tasks, the signature by which replicas compare what they
// launched, snapshots of memory that a torn update could corrupt, and the frames that carry
// a task's results between replicas.
//
// Programs do not import it; they build regions with package runtime.
package update
