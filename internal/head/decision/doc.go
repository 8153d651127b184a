// Package decision holds what the head of a job decides and what its successor
// needs to know: entries, and the state that they add up to.
//
// Every decision is an Entry. State follows from applying the entries in the order in which
// they were decided, and from nothing else, so it is the same wherever they are kept. Only
// State numbers verdicts.
//
// An entry that contradicts earlier ones changes nothing: a second death, the end of the
// program in a process that was declared dead, a slot in an old incarnation.
package decision
