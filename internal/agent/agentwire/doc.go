// Package agentwire is how head and agents talk: frames over one connection for
// each agent, most of them about one process.
//
// Nobody waits to send a frame. Standard input and output, which may be
// endless, are bounded by a Window at the sender; the Inbox at the receiver passes
// them on without holding up the frames behind them.
package agentwire
