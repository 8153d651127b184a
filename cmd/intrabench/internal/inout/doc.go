// Package inout measures the cost of tasks that change their memory in place. If the replica
// that runs such a task dies while its update is on the way, the other replicas must run the
// task again from the initial values. So a receiver either buffers an update until it is
// complete, or takes a snapshot before it applies the update [INTRA, IV and V-D, which
// measured 6 %].
package inout
