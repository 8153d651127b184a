// Package sdr delivers messages between logical ranks whose replicas may die.
//
// Replica k of a rank sends to replica k of the destination. Every receiver acknowledges a
// message to the other replicas of the sender. These keep each message until all live
// replicas of the destination have it, and one of them sends in place of a replica that
// died [SDR, Algorithm 1]. Ranks may have different numbers of replicas: a replica that
// does not exist counts as one that died before its first message.
//
// If a program asserts that it is send-deterministic, no replica leads: a receive from any
// source may match different messages on different replicas. Otherwise the lowest live
// replica of a rank makes the decisions that depend on the order of messages. A decision
// takes effect once all live replicas hold it.
//
// If no replica leads, a replica that lags behind must not match a receive from any source
// with a message that cannot exist yet in a run without replicas. So messages carry their
// causal history: an epoch that all ranks have begun, and the ranks that are known to have
// done more.
//
// A program can also run again alone, from a Place, while the other ranks go on (journal.go).
//
// All processes take a consistent cut at the same place of their program. No message
// crosses that place: bookmarks count the messages that were sent, and every process waits
// until it has received all of them. The state of a rank's messages at the cut is a
// Position. Other processes can begin there: replicas that replace dead ones, or the whole
// job after a rollback. Each process that occupies a slot has its own incarnation, and the
// frames of earlier incarnations are refused.
//
// Core is the protocol as a pure state machine. Its methods, and those of its parts, are
// the events, and each appends the actions that the caller must carry out. Engine runs a
// Core over the links of one process. Each part has its own state, and refers only to parts
// above it in this list. All parts share messages, requests, contexts and their streams
// (request.go, context.go, line.go).
//
//	journal   journal.go: what another run of the program needs
//	job       job.go: the ranks and processes, and which replica sends to which
//	outbox    out.go: frames to send, complete requests, events for waiters
//	history   causal.go past.go rest.go: operations on which those of this process depend
//	contexts  context.go: the open contexts
//	comparer  compare.go: comparison of the messages that the replicas of this rank send
//	acks      ack.go: acknowledgements to the replicas of a message's source
//	requests  requests.go: payloads that were offered, and the room for small messages
//	outgoing  send.go kept.go arrived.go: messages to other ranks
//	agreement agree.go: decisions that depend on the order of messages, for all replicas
//	matching  match.go chosen.go aside.go seen.go undo.go: receives, and messages that no receive has matched
//	incoming  receive.go ahead.go lost.go: messages from other ranks
//	cuts      cut.go position.go: bookmarks, and the position of a rank at a cut
//	finishing finished.go: waits that cannot end, because programs have returned
//	Core      core.go end.go collective.go failure.go joiner.go describe.go again.go: events that concern several parts
//
// Programs use comm. They import this package only if they connect their ranks themselves,
// see comm.World.
package sdr
