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
// Core is the protocol as a pure state machine: its methods are the events, and each
// appends the actions to be carried out. Engine runs a Core over the links of one process.
// Programs use comm, and import this package only if they connect their ranks themselves,
// see comm.World.
package sdr
