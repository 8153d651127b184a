// Package kept is the protocol by which the two replicas of a rank leave the results of
// sections where they were computed. A replica gets a part of them when one of its tasks, a
// message or control code needs it. Now and then, at a settled point, each replica makes an
// image of the registered state. A replica whose sibling has died, and that lacks something,
// rolls back to its image alone and runs again from there with the messages that it had
// received. The other ranks at most wait for it. Each message that the second run sends is
// compared with that of the first run.
//
// Machine is a pure state machine: events are method calls, and Next and Actions say what to
// do. Inside is no goroutine, clock, link or memory of the program. The owners of tasks are
// those of a static schedule [INTRA, V-A]. Messages have the numbers of [SDR, Algorithm 1,
// line 4], so that a second run sends none twice, and a substitute sends what the dead
// replica had not (lines 21 to 25). The log of messages, decisions and results of Once is
// that of pessimistic receiver-based logging (Elnozahy, Alvisi, Wang, Johnson: A Survey of
// Rollback-Recovery Protocols in Message-Passing Systems, ACM Computing Surveys 34, 2002).
//
// # Rules
//
//   - Both replicas have the same map of their memory (holders) at the same place of the
//     program. It changes where a section is left and where pieces are exchanged, and
//     nowhere else. So both compute the same list of pieces, and none is asked for.
//   - The owner sends pieces at its own entry, and the sibling applies them at its own: a
//     replica may be sections ahead. A piece is never dropped, as an update may be, since
//     the sibling may be unable to compute it.
//   - A replica waits for room only at safe points, where the sibling waits for nothing that
//     this replica has yet to do. Frames that wait leave first.
//   - What a receive writes is current on both replicas before it is posted. A task may name
//     more than it reads, and a piece of what it names must not overwrite what has arrived.
//   - An image, and the log since, go when the next image is whole on this replica. If that
//     will never be whole, its log belongs to the image before.
//   - A Free reaches the core of messages when no image from before it is left.
//   - A replica that lacks something rolls back before it reports that it is in a cut.
//
// # What the driver has to know
//
// A rank keeps nothing if it asserts that it is send-deterministic: its replicas may then
// test and receive in different orders, and their maps would differ. Where matching is
// ordered, messages carry no causal history, so the log holds none, and no clock is wound
// back. A decision is logged when it takes effect. A replica alone sends its decisions to
// no one, but logs them, as it may still roll back.
//
// A settled point is not a cut. Messages may be under way and unmatched there, and its Place
// holds numbers only. Messages that no receive has got stay in the core of messages, those
// of the log return to it, and it matches both by their numbers in a second run.
//
// A cut takes the place of a settled point. A replica that rolled back to an image of the same
// safe point would begin its second run after the cut, which would wait for it forever. A
// replica begins a cut only when it has handled the deaths that were declared before: its
// sibling may have passed that safe point without a cut, and its next pieces would look like
// those of the cut.
//
// Replicas agree at a settled point on the interval after the next one. For the interval that
// begins there, each of them would have to wait for the other at every settled point. A log
// that has grown too long makes later intervals shorter: for an earlier settled point within
// an interval all replicas would have to stop, as for a cut. It never covers more than the
// last two intervals.
//
// Operations with pieces belong to the goroutine that runs the sections, whose order both
// replicas share. Another goroutine may send and receive only what is Current.
//
// A forgotten Protect is found if it changes an operation that the first run did. If the
// replica died before such an operation, nothing differs yet, as after any rollback; only a
// rehearsal finds it.
package kept
