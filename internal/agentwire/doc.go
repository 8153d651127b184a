// Package agentwire is how head and agents talk: frames over one connection for
// each agent, most of them about one process.
//
// Nobody waits to send a frame. What comes without end, standard input and
// output, is bounded by a Window at the sender; the Inbox at the receiver hands
// it on without holding up what comes behind it.
package agentwire
