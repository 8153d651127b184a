package arbiter

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// Message is what nodes send each other. It may get lost, come twice and
// overtake others.
type Message struct {
	From ID
	To   ID // if that is not the receiver, it passes the message on
	Via  ID // who has passed it on

	// Seq numbers the sender's beats; Echo is the highest Seq that it has had
	// from To, Direct the highest that came without a detour. A message between
	// beats has Seq 0.
	Seq    uint64
	Echo   uint64
	Direct uint64

	// Term is the highest in which the sender knows of a head, Leader that head.
	Term   uint64
	Leader ID
	// Promised is the latest beat of To, as the head of Term, by which the
	// sender, a member, has promised to elect nobody else for a while.
	Promised uint64
	// Grant, from the head, leases To the right to act until so long after To
	// sent the beat that Echo names.
	Grant time.Duration

	// Epoch is how many verdicts the sender knows, Verdicts the next ones that
	// To does not.
	Epoch    uint64
	Verdicts []job.Verdict
	// Lost tells To that it has been declared lost, and why.
	Lost string

	// Changes is how many changes of the members the sender knows, Members what
	// they have led to if To knows fewer.
	Changes uint64
	Members []ID

	Sightings []detect.Sighting // to members
	Raft      []*raftpb.Message // between members
}

// spoken are the messages of Raft that members send each other here. There is
// no hand-over of leadership, which would go past the leases, no change of
// members but by decisions, and no proposal by others.
var spoken = []raftpb.MessageType{
	raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgPreVote, raftpb.MsgPreVoteResp,
	raftpb.MsgSnap, raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp,
}

func (m *Message) check() error {
	if m.From == 0 || m.To == 0 || m.From == m.To || m.Grant < 0 {
		return fmt.Errorf("%w: from %d to %d, lease %v", ErrMessage, m.From, m.To, m.Grant)
	}
	for i, v := range m.Verdicts {
		if v.Epoch == 0 || i > 0 && v.Epoch != m.Verdicts[i-1].Epoch+1 {
			return fmt.Errorf("%w: verdicts out of order", ErrMessage)
		}
	}
	if len(m.Members) > 0 && m.Changes == 0 || slices.Contains(m.Members, 0) {
		return fmt.Errorf("%w: members %v after %d changes", ErrMessage, m.Members, m.Changes)
	}
	for _, s := range m.Sightings {
		if s.Limit <= 0 || s.Age < 0 || s.Silence < 0 {
			return fmt.Errorf("%w: impossible sighting of %d", ErrMessage, s.Host)
		}
	}
	for _, r := range m.Raft {
		if r == nil || r.GetFrom() != uint64(m.From) || r.GetTo() != uint64(m.To) || r.GetTerm() == 0 || !slices.Contains(spoken, r.GetType()) {
			return fmt.Errorf("%w: not a message between members", ErrMessage)
		}
		for _, e := range r.Entries {
			if e == nil || e.GetType() != raftpb.EntryNormal {
				return fmt.Errorf("%w: not a decision", ErrMessage)
			}
		}
	}
	return nil
}
