// Package engine drives the protocols of one process of a job. It carries out the
// actions that the state machines of sections, messages and recovery ask for, over the
// links to the other processes, and the orders of the head.
//
// A process has three parts. The node holds its links, the deaths reported to it, its
// clock, and the lock that guards the state of all three. Sharing is what the replicas
// of its rank do together, in sections and in Once. Recovering restores a process after
// a loss and helps others to recover: safe points, state transfers, backups, files.
// Engine combines them and runs the program. The verifier of sharing finds wrong results of
// tasks (-sdc), and its watcher replicas whose states differ (-diverge).
//
// A cut is a consistent cut: a safe point at which all processes stop, after they have
// received every message that was sent before it.
package engine
