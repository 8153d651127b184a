// Package engine drives the protocols of one process of a job: it carries out
// what the state machines of sections, messages and recovery ask for, over the
// links to the other processes, and does what the head says.
//
// A process is three things. The node is its place among the others: links, the
// deaths that it hears of, its clock, and the lock of all that it knows. Sharing
// is what the replicas of its rank do together, in sections and in Once.
// Recovering is how it comes back after a loss and helps others to: safe points,
// states on their way, backups, files. Engine puts them together and runs the
// program.
package engine
