// Package agentlog defines the agent's log of the processes of its host, by which the job survives
// the loss of its head. The log of a process records two things: the messages that the agent has
// sent to the head about the process, and the messages that it has passed on to the process. A
// successor of the head receives the messages to the head again. It may also repeat the messages to
// the process, which the process must not receive twice.
//
// Host and Process are pure state machines: no clock, lock, connection or goroutine. Package
// agentd drives them, and the simulations of packages simulation and head run the same code.
package agentlog
