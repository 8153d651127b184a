// Package verify is the protocol by which the replicas of a rank find wrong
// results of tasks and agree on the right ones, as a pure state machine beside
// package section: events are method calls, what is to be done is returned, and
// there is no goroutine, clock, link or memory of the program inside. Package
// engine drives it; tests drive whole ranks of it through random schedules, with
// wrong results and deaths at every point.
//
// States is another one beside Machine: it compares registered states at safe points.
//
// A section that has sampled tasks is verified at its end. Every live replica has
// run them and says the hashes of what they wrote. If all say the same, they go on.
// Else they run the tasks that differ once more, say what came out and from which
// entry state, and judge, all by the same words. Nobody goes on before every live
// replica holds the result.
//
// A death begins this anew among the living, since its last words may have come
// to some of them only. Who holds a result says it then, also one who has left the
// section: what somebody has gone on with is what everybody else takes.
package verify
