package head

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// In a job with ranges of replicas (Config.Least) the user may set how many replicas a rank is
// to have. Recovery then admits more replicas at a cut, or lets some go. Only the head knows
// the hosts. It decides whether there is room, which replica of a rank is let go first, and
// which rank gets another replica first.

// mayHave returns the reason why a rank cannot have n replicas on any hosts, or nil if it can.
func (ms *members) mayHave(rank, n int) error {
	c, d := &ms.config, ms.recovery.decides
	switch {
	case rank < 0 || rank >= len(c.Degrees):
		return fmt.Errorf("there is no rank %d: the ranks are 0 to %d", rank, len(c.Degrees)-1)
	case n < c.Least[rank] || n > c.Degrees[rank]:
		return fmt.Errorf("rank %d: %d is outside of its range of %d..%d replicas, which -r or -degrees has set", rank, n, c.Least[rank], c.Degrees[rank])
	case d == nil || !d.Reached(rank):
		return fmt.Errorf("rank %d has reached no safe point yet (Process.SafePoint), and replicas join and leave only there", rank)
	case d.Rests():
		return errors.New("a rank has finished, so there are no more safe points at which replicas join and leave")
	}
	return nil
}

// roomForAll returns an error if the hosts lack room for the replicas that are to be added.
// Ranks that get fewer replicas make room.
func (ms *members) roomForAll(degrees map[int]int) error {
	need, free := 0, ms.spares()
	for rank, n := range degrees {
		if more := n - ms.taken(rank); more > 0 {
			need += more
		} else {
			free -= more
		}
	}
	used := ms.used()
	var full []string
	for i := range ms.config.Nodes {
		n := &ms.config.Nodes[i]
		if ms.stays(n.ID) {
			free += max(0, n.Slots-used[n.ID])
			full = append(full, fmt.Sprintf("%s has %d of %d slots in use", n.Name, used[n.ID], n.Slots))
		}
	}
	if need == 0 || need <= free {
		return nil
	}
	const few = 8
	if len(full) > few {
		full = append(full[:few], fmt.Sprintf("and %d more hosts", len(full)-few))
	}
	return fmt.Errorf("there is room for %d of the %d replicas to be added (%s): let a host join (intrarun grow or intrarun join), or give another rank fewer replicas", free, need, strings.Join(full, ", "))
}

// setDegrees proposes how many replicas ranks are to have.
func (ms *members) setDegrees(e SetDegrees) {
	if ms.phase <= working && ms.config.Least != nil && len(e.Degrees) > 0 {
		ms.propose(decision.Entry{Kind: decision.Degrees, Degrees: e.Degrees, Text: e.Reason})
	}
}

// degreesSet acts on that decision once it is kept.
func (ms *members) degreesSet(e decision.Entry) {
	for _, rank := range slices.Sorted(maps.Keys(e.Degrees)) {
		n := e.Degrees[rank]
		ms.warnf("the number of replicas of rank %d is to be %d (%s)", rank, n, e.Text)
		ms.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Degree(rank, n, now) })
	}
}

// targets returns how many replicas each rank is to have.
func (ms *members) targets() []int {
	all := slices.Clone(ms.config.Degrees)
	for rank, n := range ms.state.Degrees {
		all[rank] = n
	}
	return all
}

// taken returns the number of replicas of a rank that live, or are expected.
func (ms *members) taken(rank int) (n int) {
	for m := range ms.replicas(rank) {
		if _, wanted := ms.wanted[m.process]; wanted || m.state < dismissed {
			n++
		}
	}
	return n
}

// used returns the number of processes on each node.
func (ms *members) used() map[detect.ID]int {
	used := make(map[detect.ID]int)
	for _, o := range ms.all {
		if o.state < gone {
			used[o.from.Node]++
		}
	}
	return used
}

// stays reports whether a node is neither lost nor about to leave.
func (ms *members) stays(node detect.ID) bool {
	_, lost := ms.state.Lost[node]
	return !lost && !ms.state.Leaves(node)
}

// leaver orders two replicas of a rank by which of them is let go first. First is a replica on
// a host that leaves. Next is the one that protects its rank less, because another replica is
// on its host or in its rack. Next is the one on the more crowded host.
func (ms *members) leaver(p, q job.Process) int {
	used := ms.used()
	rating := func(p job.Process) (leaves, alone, apart bool, load float64) {
		m := ms.places[p]
		alone, apart = true, true
		for o := range ms.replicas(p.Rank) {
			if o != m && o.state < gone {
				alone = alone && o.from.Node != m.from.Node
				apart = apart && (m.node.Rack == "" || o.node.Rack != m.node.Rack)
			}
		}
		return !ms.stays(m.from.Node), alone, apart, float64(used[m.from.Node]) / float64(max(1, m.node.Slots))
	}
	pLeaves, pAlone, pApart, pLoad := rating(p)
	qLeaves, qAlone, qApart, qLoad := rating(q)
	return cmp.Or(falseFirst(!pLeaves, !qLeaves), falseFirst(pAlone, qAlone), falseFirst(pApart, qApart), cmp.Compare(qLoad, pLoad))
}

// dying reports whether a process has died or was killed, which is not decided yet.
func (ms *members) dying(p job.Process) bool {
	m := ms.places[p]
	return m.ending != nil || m.state == gone
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// needier orders two ranks with equally many replicas by which of them gets another one first.
// First is the rank whose replicas are on fewer hosts. Next is the rank whose tasks have taken
// longer.
func (ms *members) needier(a, b int) int {
	rating := func(rank int) (hosts int, work float64) {
		on := make(map[detect.ID]bool)
		for m := range ms.replicas(rank) {
			if m.alive() && m.state < gone {
				on[m.from.Node] = true
			}
		}
		for _, m := range ms.all {
			if m.process.Rank == rank {
				for _, t := range m.stats.TaskTypes {
					work += t.Seconds
				}
			}
		}
		return len(on), work
	}
	aHosts, aWork := rating(a)
	bHosts, bWork := rating(b)
	return cmp.Or(cmp.Compare(aHosts, bHosts), cmp.Compare(bWork, aWork))
}
