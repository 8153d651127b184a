package head

import (
	"cmp"
	"slices"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// In a job with ranges of replicas (Config.Least), recovery asks the head which replica of a rank
// is let go first, and which rank gets another replica first, because only the head knows the
// hosts.

// targets returns how many replicas each rank is to have.
func (ms *members) targets() []int {
	all := slices.Clone(ms.config.Degrees)
	for rank, n := range ms.state.Degrees {
		all[rank] = n
	}
	return all
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

// dying reports whether a process has died or was killed, but is not declared dead yet.
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
