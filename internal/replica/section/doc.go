// Package section is the protocol by which the replicas of one rank share the
// tasks of a section, and the one by which they run something once, as pure
// state machines: events are method calls, what is to be done about them is
// returned, and there is no goroutine, clock, link or memory of the program
// inside. Package engine drives them with real I/O; tests drive whole groups
// of them through random schedules.
//
// The rules are those of [INTRA, Algorithm 1], extended to any number of
// replicas, to replicas that are sections apart, and to local decisions about
// who runs what.
package section
