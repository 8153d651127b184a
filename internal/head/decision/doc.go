// Package decision defines the decisions of the head of a job, and the state that results from
// them. The two are all that a successor of the head needs to know.
//
// Every decision is an Entry. State follows from applying the entries in the order in which
// they were decided, and from nothing else, so all copies of the log have the same State. Only
// State numbers verdicts.
//
// An entry that contradicts earlier ones changes nothing. Examples are a second death, the end
// of the program in a process that was declared dead, and a slot in an old incarnation.
package decision
