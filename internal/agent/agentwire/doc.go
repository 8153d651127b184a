// Package agentwire carries frames between the head and its agents: one connection for each
// agent, most frames about one process.
//
// Sending a frame never waits. Standard input and output may be endless. A Window at the
// sender bounds the bytes under way, and an Inbox at the receiver passes them on without
// delaying the frames behind them.
package agentwire
