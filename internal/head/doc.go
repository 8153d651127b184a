// Package head is the head of a job as a state machine: it has processes
// started, declares them dead, sends verdicts to the others, replaces lost processes, rolls
// the job back to backups, and decides how it ends.
//
// A Head has no clock, goroutine or I/O. A driver passes events to it (Step), carries out
// the actions that it returns, in order, and passes a Tick when a time has passed
// (Deadline). A Head waits by keeping data: timers, decisions that are not kept yet, events
// for recovery.
//
// Four rules hold it together:
//
//   - The head decides before it acts. It proposes an entry, and acts on it when the driver
//     returns it as Committed, in the order of the log. So a successor knows everything that
//     any process was ever sent.
//   - Verdicts, slots, deaths and the end of the job follow from the decisions
//     (decision.State). The head keeps no second copy of them.
//   - The state of each process is one memberState, which changes by a table.
//   - A process that may act is killed before it is declared dead, or ran on a host whose
//     lease is over. So no process acts after its verdict.
//
// recovery.Head decides when cuts happen and how lost processes are replaced. This package
// carries out its decisions.
//
// A Head consists of parts. Each has its own state. It holds only parts above it in this
// list, and calls those below it only through the functions that it is given
// (desk.likelier, queue.carryOut and caughtUp, members.begun):
//
//	desk      desk.go timer.go: what all parts work with
//	hosts     host.go: why hosts are lost
//	queue     queue.go: one event after another for recovery.Head
//	members   members.go join.go degree.go replace.go spares.go relieve.go leave.go: which process is in which slot
//	faults    kills.go weibull.go: deaths on request
//	plan      recover.go files.go: cuts, backups, rollbacks and files, carried out
//	judge     judge.go suspect.go dispute.go blame.go diverge.go outlast.go: faults of processes, and what follows
//	deaths    death.go: causes and verdicts
//	leaves    drain.go handover.go ending.go: hosts and processes that leave on notice
//	Head      arrive.go degrees.go head.go log.go message.go end.go notice.go restore.go setdegrees.go status.go stays.go summary.go: events, decisions, reports
//
// Restore makes a successor from the decisions and from the reports of the agents. It
// continues where the lost head was, and repeats messages that may not have arrived. The
// agents discard those that must not arrive twice.
package head
