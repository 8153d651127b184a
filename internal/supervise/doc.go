// Package supervise starts, watches and ends the processes of one host.
//
// Its Agent holds what the kernel gives for a process, so that it sees its death
// at once: it is its parent, reads its pipes and its control connection, and
// makes its links within the host. It decides nothing: what it sees it tells an
// Observer, which is the head, or passes it on to the head on another host.
package supervise
