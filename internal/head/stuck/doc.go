// Package stuck finds deadlocks: processes of a job that wait for each other, or for a rank
// that has finished, so that they never go on.
//
// The result depends only on the last reports of the processes. A process can go on if its
// program runs, or if its wait can end because a replica of an awaited rank can go on. The
// remaining processes can never go on: they wait only for each other and for finished
// ranks. So a long computation is not a deadlock, and neither is a process that is stopped
// or unreachable. Two ranks that wait for each other are found while other ranks compute.
package stuck
