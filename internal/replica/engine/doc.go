// Package engine drives the protocols of one process of a job. It carries out the actions
// of the state machines of sections, messages and recovery over the links to the other
// processes. It also carries out the orders of the head.
//
// A process has three parts. The node holds its links, the deaths reported to it, its
// clock, and the lock that guards the state of all three. Sharing completes sections and
// calls of Once together with the other replicas of its rank. Recovering restores a
// process after a loss and helps others to recover: safe points, state transfers, backups,
// files. Engine combines them and runs the program. The verifier of sharing finds wrong
// results of tasks (-sdc). Its watcher finds replicas whose states differ (-diverge).
//
// The program of a process may run again alone, from a settled point: a safe point at which
// the process has made an image of the registered state, in memory. All other processes go
// on, and the second run does nothing that they could see (again.go).
//
// Results of sections may stay on the replica that has computed them (keep.go). Then a death
// can make the other replica run the program again alone.
//
// A cut is a consistent cut: a safe point at which all processes stop, after they have
// received every message that was sent before it.
package engine
