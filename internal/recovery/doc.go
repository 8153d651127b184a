// Package recovery decides how a job recovers from failures. Head is its part in the job's
// head. Member is its part in a process at safe points, and Return its part in a process
// during a rollback. All three are pure state machines, without clock, goroutines, links
// or randomness.
//
// All recovery uses the consistent cut, here called cut. It is safe point N of every rank:
// all processes stop there and wait until no message from before it is in flight. In a
// cut, replacements join with the state of a live replica, and backups are copied. When a
// rank has lost all its replicas, every process rolls back to the cut of the last complete
// backup. The states of the processes during a rollback are those of [NR, tables 1 and 2];
// the README lists this paper.
//
// The job may lose its head at any time. A Head keeps each Decision before it acts on it.
// Snapshot is folded from these decisions and from the starts, deaths and ends of
// processes. Resume makes the next Head from a Snapshot; that Head repeats the orders that
// some processes may not have received. Package agentlog decides which of these are new to
// a process, and which replies its agent repeats to the new head.
//
// A Head consists of parts. Each has its own state, and holds only parts above it in this
// list:
//
//	desk      desk.go: the data that all parts share
//	replicas  state.go replicas.go joiners.go: the process in each slot
//	pace      policy.go: when the next backup is due
//	backups   backup.go trust.go: copies, and which backup a rollback goes to
//	sets      files.go: sets of files
//	Head      head.go degree.go replace.go relieve.go cut.go rollback.go loss.go resume.go: requests for processes, cuts, rollbacks, the end
package recovery
