// Package inout measures what it costs that a task changes its memory in
// place. If the replica that runs it dies while its update is on the way, the
// others must run the task again from the values of the beginning: so either
// an update is kept aside until it is whole, or a snapshot is taken before it
// is written [INTRA, IV and V-D, which found 6 %].
package inout
