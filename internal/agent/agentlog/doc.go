// Package agentlog holds what the agent of a host remembers of its processes, so
// that the job survives the loss of its head: what the agent has sent to the head
// about each process, which it repeats to a successor, and what it has passed on
// to each process, which a successor may send again and the process must not
// receive twice.
//
// Host and Process are pure state machines: no clock, lock, connection or
// goroutine. Package agentd drives them, and the simulations of packages
// simulation and head run the same code.
package agentlog
