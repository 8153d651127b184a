// Package sched decides which task of a section a replica runs next. Its
// decisions are pure functions of what the replica knows: no clock, no I/O,
// no agreement with the peers, since any replica may run any task and a wrong
// guess costs time, never a result.
//
// Programs do not import it; they choose a policy with the options of package
// runtime or the sched clause of a section.
package sched
