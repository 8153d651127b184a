// Package kept is the protocol by which the two replicas of a rank leave the results of
// sections where they were computed. A replica gets a part of them when one of its tasks,
// a message or control code needs it. At certain safe points, called settled points, each
// replica makes an image of the registered state. If the sibling of a replica dies and the
// replica lacks something, it alone rolls back to its image. It runs again from there with
// the messages that it had received. The other ranks only wait for it if they need its
// messages. Each message that the second run sends is compared with that of the first run.
//
// Machine is a pure state machine: events are method calls, and Next and Actions return
// what to do. It has no goroutine, clock, link or memory of the program. The owners of
// tasks are those of a static schedule [INTRA, V-A]. Messages have the numbers of [SDR,
// Algorithm 1, line 4]. So a second run sends no message twice, and a substitute sends the
// messages that the dead replica had not sent (lines 21 to 25). The log of messages,
// decisions and results of Once is that of pessimistic receiver-based logging (Elnozahy,
// Alvisi, Wang, Johnson: A Survey of Rollback-Recovery Protocols in Message-Passing
// Systems, ACM Computing Surveys 34, 2002).
//
// # Rules
//
//   - Both replicas have the same map of their memory (holders) at the same place of the
//     program. It changes where a section is left and where pieces are exchanged, and
//     nowhere else. So both compute the same list of pieces, and none is asked for.
//   - The owner sends pieces at its own entry, and the sibling applies them after its own: a
//     replica may be sections ahead. Meanwhile tasks run that name no memory of the pieces. A
//     piece is never dropped, as an update may be, since the sibling may be unable to compute
//     it.
//   - A replica waits for room only at safe points, where the sibling waits for nothing that
//     this replica has yet to do. Waiting frames are sent first.
//   - What a receive writes is current on both replicas before it is posted. A task may name
//     more than it reads, and a piece of what it names must not overwrite what has arrived.
//   - Other frames may overtake what the replicas exchange for an image, which is large.
//   - An image, and the log since, are discarded when the next image is whole on this replica.
//     If the next image will never be whole, its log is appended to that of the earlier image.
//   - A Free reaches the core of messages when no image from before it is left.
//   - In a cut both replicas make all memory current, before they report that they are in it. A
//     replica that cannot get what it lacks rolls back before that. The exchange of a cut has
//     no number among the others, and no effect if the sibling passes the safe point without
//     the cut.
//
// # The driver
//
// Package engine drives the machine. The journal of package sdr, and the results of Once that
// engine keeps, replace the log. The driver calls none of Did, Received, Decided and Resulted.
// It performs the steps of NextReturn at once, which the journal permits at any place of the
// program. So the driver, and not the machine, counts the sections after the last safe point of
// the first run.
//
// # What a driver has to know
//
// A rank keeps nothing where its replicas may test and receive in different orders, as their
// maps would differ. So the driver orders matching (sdr.Config.Always) even if the program
// asserts that it is send-deterministic. Where matching is ordered, messages carry no causal
// history. So the log holds none, and no vector clock is reset. A decision is logged when it
// takes effect. A replica alone sends its decisions to no peer, but logs them, because it may
// still roll back.
//
// A settled point is not a cut. Messages may be in flight or unmatched there, and its
// Place holds only numbers. Messages that no receive has got stay in the core of messages,
// the engine that sends and matches them. In a second run the messages of the log return
// to it, and it matches both by their numbers.
//
// A cut takes the place of a settled point. A replica that rolled back to an image of the
// same safe point would begin its second run after the cut, which would wait for it
// forever. The image is made when the cut is over, because a cut ends the journal of messages,
// and numbers decisions from 0. It is made even if the cut was cancelled after the exchange.
//
// A cut is cancelled if a rank ends, and the replicas learn that at different times. So one may be
// in the cut when the other one passes the safe point without it. The second one informs the
// first one when it gets there, and the first one waits for that. This wait ends: the first
// replica has received all messages up to there, so the second one will receive them, too.
//
// At a settled point the replicas agree on the plan of the next interval but one. To agree
// on the interval that begins there, they would have to wait for each other at every
// settled point. If the log has grown too long, later intervals become shorter: to end the
// present interval earlier, both replicas would have to stop, as for a cut. The log never
// covers more than the last two intervals.
//
// Operations that exchange pieces belong to the goroutine that runs the sections, whose
// order is the same on both replicas. Another goroutine may send and receive only memory
// that is Current.
//
// A forgotten Protect is found if it changes an operation that the first run also did. The driver
// compares the sections, too, with the scalars that tasks read, but not the contents of arrays. If
// the replica died before such an operation, the two runs do not differ yet, as after any
// rollback. Only a rehearsal finds the error then.
package kept
