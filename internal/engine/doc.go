// Package engine drives the protocols of one process of a job: it carries out
// what the state machines of sections, messages and recovery ask for, over the
// links to the other processes, and does what the head says.
package engine
