// Package update handles the memory of tasks. It has regions of pointer-free types, and
// finds overlaps between regions of different tasks. It computes the signature by which
// replicas compare the tasks that they launched. It takes snapshots of memory that a torn
// update could corrupt, and defines the frames that carry a task's results between
// replicas.
//
// Programs do not import it; they build regions with packages intra and runtime.
package update
