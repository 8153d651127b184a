// Package arbiter decides which hosts are dead, keeps the list of verdicts and
// all else that a successor of the head needs, and decides which node is the head.
//
// Every process of the launcher, the head and one agent per host, is a node. The head and
// two agents on other hosts are members: together they keep the log of decisions, by Raft. A
// decision counts once two of the three have it. When a member is lost, an agent on another
// host replaces it (reconfigure.go). Package decision defines the decisions and the state
// that follows from them.
//
// Nodes send each other heartbeats, here called beats. One message carries everything: the
// echo by which round trips are measured, the head and its term, a lease, the verdicts, what
// the sender has seen of other nodes, and the messages of Raft.
//
// A head acts only while a majority has promised, by echoing its beats, to elect no other head for
// a while. It leases the same right to the agents, never for longer than its own lease. An agent
// whose lease is over keeps its processes from acting on the outside world, and a host is declared
// lost only when its lease is certainly over (lease.Wait). A successor is elected only after the
// promises have expired, so no lease of its predecessor is then in force. A head that hands over
// releases the members from their promises; its successor then declares no host lost until every
// lease that may be in force is over.
//
// Node is pure: it takes events with the time of the host's clock and returns actions.
// Engine drives it with a UDP socket.
package arbiter
