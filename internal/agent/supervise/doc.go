// Package supervise starts, watches and ends the processes of one host.
//
// Its Agent is the parent of the processes, so it notices a death at once. It reads their
// pipes and control connections, and makes the links within the host. It decides nothing: it
// reports its observations to an Observer. The Observer is the head, or forwards to the head
// on another host.
package supervise
