// Package decision holds what the head of a job decides and what its successor
// needs to know: entries, and the state that they add up to.
//
// Whatever is decided is an Entry. State is made by applying entries in the
// order in which they were decided, and by nothing else, so it is the same
// wherever they are kept. Verdicts are numbered there and nowhere else.
//
// What contradicts earlier entries changes nothing: a second death, the end of
// the program in a process that was declared dead, an old place.
package decision
