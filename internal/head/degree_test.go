package head

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// ranged is a job of three replicas of rank 0 and two of rank 1 on hosts 2, 3 and 4, in which
// each rank may have fewer.
func ranged(t *testing.T) *Head {
	s := begun(t, "degrees=3,2", "hosts=3", "replace")
	s.head.config.Least = []int{1, 1}
	for i := range s.head.config.Nodes {
		s.head.config.Nodes[i].Slots = 2
	}
	return s.head
}

// The head first lets go a replica on a host that leaves, then the one that protects its rank
// least, then the one on the most crowded host.
func TestWhichReplicaIsLetGo(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     []detect.ID // hosts of 0.0, 0.1 and 0.2
		racks  []string    // of hosts 2, 3 and 4
		slots  []int
		leaves detect.ID
		want   int // replica
		than   int // a replica that is let go after want
	}{
		{"on the host of another one", []detect.ID{2, 3, 3}, nil, []int{1, 8, 8}, 0, 1, 0},
		{"in the rack of another one", []detect.ID{2, 3, 4}, []string{"a", "b", "b"}, []int{1, 8, 8}, 0, 1, 0},
		{"on the most crowded host", []detect.ID{2, 3, 4}, nil, []int{8, 8, 1}, 0, 2, 0},
		{"on a host that leaves", []detect.ID{2, 3, 3}, nil, nil, 2, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := ranged(t)
			for i := range h.config.Nodes {
				n := &h.config.Nodes[i]
				if c.racks != nil {
					n.Rack = c.racks[i]
				}
				if c.slots != nil {
					n.Slots = c.slots[i]
				}
			}
			for replica, node := range c.on {
				m := h.members.places[at(0, replica)]
				m.from.Node, m.node = node, h.config.node(node)
			}
			if c.leaves != 0 {
				h.leaves.request(Leave{Node: c.leaves, Reason: "notice"})
				h.state.Apply(h.asked[0])
			}
			for replica := range 3 {
				if replica != c.want {
					require.LessOrEqual(t, h.members.leaver(at(0, c.want), at(0, replica)), 0, "%d", replica)
				}
			}
			require.Negative(t, h.members.leaver(at(0, c.want), at(0, c.than)))
		})
	}
}

// Of ranks with equally many replicas, one whose replicas are on fewer hosts gets another one
// first, then one that has worked longer.
func TestWhichRankGetsMore(t *testing.T) {
	h := ranged(t)
	h.members.places[at(0, 2)].state = dead
	h.members.places[at(1, 0)].stats.TaskTypes = map[string]job.TaskStats{"k": {Seconds: 1}}
	require.Positive(t, h.members.needier(0, 1), "rank 1 has worked longer")
	m := h.members.places[at(0, 1)]
	m.from.Node = h.members.places[at(0, 0)].from.Node
	require.Negative(t, h.members.needier(0, 1), "both replicas of rank 0 are on one host")
}

// The numbers that the user has set are kept for a successor.
func TestWhichNumbersASuccessorKnows(t *testing.T) {
	h := ranged(t)
	require.Equal(t, []int{3, 2}, h.members.recoveryConfig().Targets)
	h.Step(SetDegrees{Degrees: map[int]int{0: 1}, Reason: "by hand"}, 0)
	h.Step(Committed{h.asked[0]}, 0)
	require.Equal(t, []int{1, 2}, h.members.recoveryConfig().Targets)
}

// A joiner starts in another rack than the other replicas of its rank, if possible.
func TestRackOfAJoiner(t *testing.T) {
	s := begun(t, "degrees=1", "hosts=3", "replace")
	h := s.head
	h.config.Nodes[0].Rack, h.config.Nodes[1].Rack, h.config.Nodes[2].Rack = "a", "a", "b"
	require.Equal(t, detect.ID(4), h.members.elsewhere(at(0, 1), 0).ID)
	h.config.Nodes[2].Slots = 0
	require.Equal(t, detect.ID(3), h.members.elsewhere(at(0, 1), 0).ID)
	h.config.Nodes[1].Slots = 0
	require.Equal(t, detect.ID(2), h.members.elsewhere(at(0, 1), 0).ID)
}

// A request for numbers of replicas that ranks cannot have is refused with an error that names the
// place and the cure.
func TestNumbersOfReplicasAreRefused(t *testing.T) {
	h := ranged(t)
	require.ErrorContains(t, h.MayDegrees(map[int]int{0: 1}), "rank 0 has reached no safe point yet")
	require.ErrorContains(t, h.MayDegrees(map[int]int{5: 1}), "there is no rank 5: the ranks are 0 to 1")
	require.ErrorContains(t, h.MayDegrees(map[int]int{1: 3}), "rank 1: 3 is outside of its range of 1..2 replicas")
	for _, p := range job.Processes(h.config.Degrees) {
		h.recovery.decides.Reply(p, firstIncarnation, job.Reply{Kind: job.ReplyFirst}, 0)
	}
	require.NoError(t, h.MayDegrees(map[int]int{0: 1, 1: 2}))
	h.members.places[at(0, 2)].state = dead
	for i := range h.config.Nodes {
		h.config.Nodes[i].Slots = 1
	}
	require.ErrorContains(t, h.MayDegrees(map[int]int{0: 3}), "there is room for 0 of the 1 replicas to be added (h1 has 1 of 1 slots in use")
	require.NoError(t, h.MayDegrees(map[int]int{0: 3, 1: 1}), "rank 1 makes room")
	h.config.Least = nil
	require.ErrorContains(t, h.MayDegrees(map[int]int{0: 1}), "they are fixed in this job")
	h.phase = over
	require.ErrorContains(t, h.MayDegrees(map[int]int{0: 1}), "the job has not begun, or ends")
}

// A process that leaves does not rely on a replica that is about to be let go. Recovery knows
// which processes were killed before that is decided.
func TestWhichReplicasStay(t *testing.T) {
	s := begun(t, "degrees=2", "hosts=3", "replace")
	ms, leaver := s.head.members, s.head.members.places[at(0, 1)]
	dying := ms.recoveryConfig().Dying
	require.False(t, dying(at(0, 1)))
	require.Equal(t, ms.places[at(0, 0)], s.head.leaves.other(leaver, 0))
	s.head.asked = []decision.Entry{{Recovery: &recovery.Decision{Departed: []job.Endpoint{ms.places[at(0, 0)].endpoint()}}}}
	require.Nil(t, s.head.leaves.other(leaver, 0))
	ms.kill(leaver)
	leaver.ending = &ending{job.CauseFenced, "it leaves"}
	require.True(t, dying(at(0, 1)), "it was killed")
	leaver.ending, leaver.state = nil, gone
	require.True(t, dying(at(0, 1)), "it has exited")
}
