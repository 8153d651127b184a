// Package head is the head of a job as a state machine: it has processes
// started, declares them dead, tells the others, replaces lost ones, sends the job
// back to backups, and decides how it ends.
//
// A Head has no clock, goroutine or I/O. A driver hands it events (Step), carries
// out the actions that it returns, in order, and comes back when a time has
// passed (Deadline). What waits inside is data: timers, decisions that are not
// kept yet, events for recovery.
//
// Four rules hold it together:
//
//   - What has an effect is decided first. The head proposes an entry, and does
//     what follows from it when the driver returns it as Committed, in the order
//     of the log. So a successor knows all that any process was ever told.
//   - Verdicts, places, deaths and the end of the job are what the decisions add
//     up to (decision.State). The head keeps no second copy of them.
//   - The state of each process is one memberState, which changes by a table.
//   - A process that may act is killed before it is declared dead, or ran on a
//     host whose lease is over. So nobody acts after the verdict on it.
//
// What is done about lost processes, and when cuts are, recovery.Head decides,
// and this package carries out.
//
// Restore makes a head of the decisions and of what the agents tell that they
// have: a successor. It goes on wherever the one before it was, repeats what is
// harmless to be heard twice, and the agents keep the rest from the processes.
package head
