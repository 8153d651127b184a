// Package sdr delivers messages between logical ranks whose replicas may die.
//
// Replica k of a rank sends to replica k of the destination. Every receiver acknowledges to
// the other replicas of the sender. These keep each message until all live replicas of the
// destination have it, and one of them sends in place of a replica that died [SDR,
// Algorithm 1]. Ranks may have different numbers of replicas: a replica that does not exist
// counts as one that died before its first message. If a program asserts that it is
// send-deterministic, no replica leads: a wildcard receive may match in another order on
// every replica. Otherwise the lowest live replica of a rank decides what depends on the
// order of messages, and a decision takes effect once all live replicas hold it.
//
// Where no replica leads, a replica that lags behind must not match a wildcard with a
// message that cannot exist yet. So messages carry their causal history: an epoch that all
// ranks have begun, and the ranks that are known to have done more.
//
// All processes take a consistent cut at the same place of their program. No message is on
// its way there: bookmarks count what has been sent, and every process waits until it has
// received all of it. The state of a rank's messages at the cut is a Position, at which
// other processes can begin: replicas that replace dead ones, or the whole job after a
// rollback. Each process that takes a slot has an incarnation of its own, and the frames of
// earlier incarnations are refused.
//
// Core is the protocol as a pure state machine: its methods, and those of its parts, are the
// events, and each appends the actions to be carried out. Engine runs a Core over the links
// of one process. Each part has its own state, and holds only parts above it in this list.
// Messages, requests, contexts and their streams are shared by all parts (request.go,
// context.go, line.go).
//
//	job       job.go: the ranks and processes, and which replica sends to which
//	outbox    out.go: frames to send, complete requests, news for waiters
//	history   causal.go past.go rest.go: what the operations of this process depend on
//	contexts  context.go: the open contexts
//	comparer  compare.go: what the replicas of this rank have sent, compared
//	acks      ack.go: what has been received, reported to the replicas of its source
//	requests  requests.go: payloads that were offered, and the room for small messages
//	outgoing  send.go kept.go arrived.go: messages to other ranks
//	agreement agree.go: what depends on the order of messages, decided for all replicas
//	matching  match.go chosen.go aside.go seen.go: receives, and messages that none has taken
//	incoming  receive.go ahead.go lost.go: messages from other ranks
//	cuts      cut.go position.go: bookmarks, and the position of a rank at a cut
//	finishing finished.go: waits that are in vain, since programs have returned
//	Core      core.go end.go collective.go failure.go joiner.go describe.go: events that concern several parts
//
// Programs use comm, and import this package only if they connect their ranks themselves,
// see comm.World.
package sdr
