// Package inout measures the cost of tasks that change their memory in place. If the
// replica that runs such a task dies while its update is on the way, the others must run
// the task again from the initial values. So either an update is kept aside until it is
// whole, or a snapshot is taken before it is written [INTRA, IV and V-D, which found 6 %].
package inout
