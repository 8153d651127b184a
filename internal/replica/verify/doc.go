// Package verify is the protocol by which the replicas of a rank find wrong results of
// tasks and agree on the right ones. Machine is a pure state machine, like those of package
// section: events are method calls, actions are returned, and it has no goroutine, clock, link or
// memory of the program. Package engine drives it. Tests drive whole ranks of it through random
// schedules, with wrong results and deaths at every point.
//
// States is a second machine. It compares registered states at safe points, and no replica
// continues before all states are compared. Watch is a third machine. It finds replicas
// that differ because of the program. It compares hashes without making replicas wait for
// them; Pace chooses where each replica takes a hash.
//
// A section that has sampled tasks is verified at its end. Every live replica has run
// these tasks and sends the hashes of their results. If all hashes are equal, the replicas
// continue. Otherwise they run the tasks that differ once more and send the new hashes and
// those of the entry states. Then all of them judge by the same messages. No replica
// continues before every live one holds the result.
//
// A death restarts this comparison among the live replicas, because the last messages of
// the dead one may have reached only some of them. A replica that holds a result then
// sends it, even if it has left the section: if one replica has continued with a result,
// all others take the same.
package verify
