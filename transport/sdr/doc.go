// Package sdr delivers messages between logical ranks whose replicas may die.
//
// Replica k of a rank sends to replica k of the destination; every receiver
// acknowledges to the other replicas of the sender, which keep each message
// until all live replicas of the destination have it, and one of which sends
// in place of a replica that died [SDR, Algorithm 1]. Ranks may have different
// numbers of replicas: one that does not exist counts as one that died before
// its first message. If a program asserts that it is send-deterministic, no replica
// leads: a wildcard receive may match in another order on every replica. Otherwise the
// lowest live replica of a rank decides what depends on the order of messages, and a
// decision takes effect once all live replicas hold it.
//
// So that a replica which is behind matches no message with a wildcard that
// cannot exist yet, messages say what they depend on: an epoch that all ranks have
// begun, and the ranks that are known to have done more.
//
// At a cut, which every process takes at the same place of its program, nothing
// is on its way: bookmarks say what has been sent, and everybody waits until
// it has all of it. There a rank's place in the messages is a Position, at
// which other processes can begin: replicas that take the place of dead ones,
// or the whole job once more. Each process that takes a place has an
// incarnation of its own, and frames of earlier ones are refused.
//
// Core is the protocol as a pure state machine: its methods are the events,
// and each appends the actions to be carried out. Engine runs a Core over the
// links of one process. Programs use comm, and import this package only if
// they connect their ranks themselves, see comm.World.
package sdr
