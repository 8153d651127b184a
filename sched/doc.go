// Package sched decides which task of a section a replica runs next. Its decisions are pure
// functions of the knowledge of the replica: they involve no clock, no I/O and no agreement
// with the peers. Any replica may run any task, so a wrong guess costs time, but never
// changes a result.
//
// Programs do not import it; they choose a policy with the options of package intra or the
// sched clause of a section.
package sched
