// Package agentwire carries frames between the head and its agents: one
// connection for each agent, most frames about one process.
//
// Sending a frame never waits. Standard input and output, which may be endless,
// are bounded by a Window at the sender; an Inbox at the receiver passes them on
// without delaying the frames behind them.
package agentwire
