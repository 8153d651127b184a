// Package recovery decides how a job comes back from failures: Head is the
// part of the head of the job, Member that of a process at safe points, and
// Return that of a process on its way back to a backup: pure state machines
// without a clock, goroutine, link or randomness inside.
//
// Everything rests on the cut: safe point N of every rank, at which all
// processes stop and wait until nothing that was sent before it is on its way.
// There lost replicas join with the state of a live one, and backups are
// copied. When a rank has lost all its replicas, every process goes back to
// the cut of the last backup that is complete; the states of the processes on
// that way are those of [NR, tables 1 and 2].
//
// The head itself may be lost at any time. Each Decision is kept before anything
// follows from it, and Snapshot is folded from them and from what becomes of
// processes; Resume makes the next Head of it, which repeats the orders that
// some may not have heard. Package agentlog says which of these are new to a
// process, and which replies its agent repeats to the new head.
package recovery
