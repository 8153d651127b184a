// Package section holds two protocols of the replicas of one rank: how they share the
// tasks of a section (Machine), and how they run a function once (Once). Both are pure
// state machines: events are method calls that return the actions to perform. They have no
// goroutine, clock, link or memory of the program. Package engine drives them with real
// I/O; tests drive whole groups through random schedules.
//
// The rules are those of [INTRA, Algorithm 1]. They are extended to any number of
// replicas, to replicas that are sections apart, and to a local choice of the replica that
// runs a task.
package section
