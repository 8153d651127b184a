// Package arbiter decides which hosts are dead, keeps the list of verdicts and
// all else that a successor of the head needs, and says who is the head.
//
// Every process of the launcher, the head and one agent per host, is a node.
// The head and two agents on other hosts are members: they hold the log of
// decisions together, by Raft, and a decision counts once two of the three
// have it. When one of them is lost an agent on another host takes its place
// (reconfigure.go). What is decided, and what it adds up to, is in package decision.
//
// Nodes beat. One message carries all: the echo by which round trips are
// counted, who is the head and in which term, a lease, the verdicts, what the
// sender has seen of others, and the messages of Raft. A head acts only while
// a majority has promised, by echoing its beats, to elect nobody else for a
// while. It leases the same right to the agents, for no longer than it has it
// itself; an agent whose lease is over keeps its processes from acting on the
// outside world, and a host is declared lost only when its lease is certainly
// over (lease.Wait). Thus a successor, which is elected after the promises have
// run out, finds no lease of its predecessor in force.
//
// Node is pure: events go in with the time of the host's clock, actions come
// out. Engine drives it with a UDP socket.
package arbiter
