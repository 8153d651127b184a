package head

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// members knows all processes: which process is in each slot, on which host, and which ones
// join, leave or are dead. A slot (job.Process) has one process at a time. The next one is
// chosen only after the end of the earlier one is decided and its output is complete.
type members struct {
	*desk
	hosts    *hosts
	recovery *queue
	begun    func() // called to continue once all processes have begun

	all     []*member                // all processes that have ever existed
	byAgent map[From]*member         // by the names that their agents use
	byPlace map[job.Endpoint]*member // by the slots that they have or had
	places  map[job.Process]*member  // by slot: the process that has the slot now, or gets it
	wanted  map[job.Process]uint32   // slots that need a process, with the incarnation of that process; none is chosen yet
	refused map[job.Process]string   // the reason printed last why a slot gets no process
	last    map[int]decision.Verdict // by rank: the last verdict on a process that had its state
	direct  []int                    // ranks whose replicas store into each other's arrays
	opening bool                     // the driver is looking for files
}

// enroll makes a member and adds it to the list of all.
func (ms *members) enroll(p job.Process, incarnation uint32, from From, role Role) *member {
	m := &member{from: from, node: ms.config.node(from.Node), role: role, stopped: longAgo,
		native: ms.config.Setup.MPI && role == First && incarnation == firstIncarnation}
	ms.add(m, p, incarnation)
	return m
}

// add adds a member to the list of all.
func (ms *members) add(m *member, p job.Process, incarnation uint32) {
	ms.byAgent[m.from] = m
	ms.all = append(ms.all, m)
	ms.take(m, p, incarnation)
}

// holder returns the process that has or had a slot in that incarnation. It returns nil if the
// head knows none.
func (ms *members) holder(p job.Process, incarnation uint32) *member {
	return ms.byPlace[job.Endpoint{Process: p, Incarnation: incarnation}]
}

// take assigns a slot to a process. Only this head knows about it; nothing is proposed.
func (ms *members) take(m *member, p job.Process, incarnation uint32) {
	m.process, m.incarnation = p, incarnation
	ms.byPlace[job.Endpoint{Process: p, Incarnation: incarnation}] = m
	if m.role != Spare && !m.relieves {
		ms.places[p] = m
	}
}

// placed reports whether the slot of a process is decided.
func (ms *members) placed(m *member) bool {
	if m.role == Spare {
		_, placed := ms.state.Spares[m.process]
		return placed
	}
	return ms.state.Places[m.process].Incarnation == m.incarnation || ms.state.Reliefs[m.process].Incarnation == m.incarnation
}

// lifeOf returns the incarnation of a process in slot p. frames is the incarnation in the
// process's frames: its own one or, after a rollback, the number of the rollback. Processes
// and rollbacks are numbered in one sequence. So the process is the latest one in the slot
// that is not newer than frames.
func (ms *members) lifeOf(p job.Process, frames uint32) (own uint32) {
	for _, m := range ms.all {
		if m.process == p && m.incarnation <= frames && !m.relieves {
			own = max(own, m.incarnation)
		}
	}
	return own
}

// replicas yields the processes that have the slots of a rank now.
func (ms *members) replicas(rank int) iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for replica := range ms.config.Degrees[rank] {
			if m := ms.places[job.Process{Rank: rank, Replica: replica}]; m != nil && !yield(m) {
				return
			}
		}
	}
}

// alive returns the number of replicas of a rank that have their state and are not dead.
func (ms *members) alive(rank int) (n int) {
	for m := range ms.replicas(rank) {
		if m.alive() {
			n++
		}
	}
	return n
}

// complete reports whether every live process has finished and no replacement is expected.
func (ms *members) complete() bool {
	if len(ms.wanted) > 0 {
		return false
	}
	for _, m := range ms.places {
		switch {
		case m.coming():
			return false
		case m.alive() && ms.state.Places[m.process].Status != decision.Done:
			return false
		}
	}
	return true
}

// filling reports whether one of the given ranks is about to get another replica.
func (ms *members) filling(ranks ...int) bool {
	for p, m := range ms.places {
		if _, wanted := ms.wanted[p]; (wanted || m.coming()) && slices.Contains(ranks, p.Rank) {
			return true
		}
	}
	return false
}

// conclude ends the job if the last replica of a rank has died and no process replaces it. A
// rank is never lost once a replica has finished and all its messages have been received. In a
// job with replacements, recovery decides instead, once the files are known.
func (ms *members) conclude(v decision.Verdict) {
	if ms.alive(v.Process.Rank) == 0 && !ms.state.Drained[v.Process.Rank] && !ms.restores() {
		more := ""
		if ms.config.replaces() {
			more = fmt.Sprintf("; rank %d could not be brought back: the job had not begun", v.Process.Rank)
		}
		ms.lose(v, more)
	}
}

// restores reports whether recovery can replace lost processes.
func (ms *members) restores() bool { return ms.config.replaces() && !ms.unopened() }

// lose ends the job because of the verdict on a rank's last replica. more is the reason why
// the rank cannot be restored.
func (ms *members) lose(v decision.Verdict, more string) {
	rank, code := v.Process.Rank, exitBy(v)
	var others []string
	for _, w := range ms.state.Verdicts {
		if w.Process.Rank == rank && w.Process != v.Process && !w.Withdrawn {
			others = append(others, fmt.Sprintf("%v (%s)", w.Process, w.Cause))
		}
	}
	text := fmt.Sprintf("rank %d has lost its last replica %v at %.3f s (%s: %s)", rank, v.Process, ms.elapsed().Seconds(), v.Cause, firstLine(v.Detail))
	if len(others) > 0 {
		text += ", after " + strings.Join(others, ", ")
	}
	switch {
	case strings.HasPrefix(v.Detail, outOfMemory):
		text += "; more replicas would need more memory still: give the job more of it, or more hosts (-hosts)"
	case code == ExitLost:
		text += fmt.Sprintf("; %d replicas of rank %d would have saved it (-r %[1]d or -degrees)", ms.config.Degrees[rank]+1, rank)
	}
	ms.decide(code, text+more, of(v))
}

// exitBy returns the exit code of a job that a death has ended.
func exitBy(v decision.Verdict) int {
	if itself(v.Cause) {
		return ExitFailed
	}
	return ExitLost
}

// of returns the process that a verdict is about.
func of(v decision.Verdict) job.Endpoint {
	return job.Endpoint{Process: v.Process, Incarnation: v.Incarnation}
}

// releaseIfComplete releases the processes when all live ones have finished.
func (ms *members) releaseIfComplete() {
	if ms.phase != working || !ms.hasBegun || !ms.complete() || ms.recovery.mayGoBack() {
		return
	}
	ms.phase = released
	ms.detailf("all have finished")
	ms.freeSpares()
	ms.propose(decision.Entry{Kind: decision.Released})
}

func (ms *members) killAll() {
	for _, m := range ms.all {
		ms.kill(m)
	}
}

// explain sets the text of a verdict that rests on the loss of a host.
func (ms *members) explain(v decision.Verdict) decision.Verdict {
	if m := ms.holder(v.Process, v.Incarnation); v.Cause == job.CauseHost && m != nil {
		if _, lost := ms.state.Lost[m.from.Node]; lost {
			v.Detail = ms.hosts.why(m.from.Node)
		}
	}
	return v
}

// tool returns the command of -clone that has started a process, "" if none has.
func (ms *members) tool(m *member) string {
	c, ok := job.CloneOf(ms.config.Clones, m.process)
	if !ok || m.incarnation != firstIncarnation || m.role == Spare {
		return ""
	}
	return c.Tool()
}
