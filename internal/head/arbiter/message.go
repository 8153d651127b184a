package arbiter

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// Message is a message between nodes. It may be lost, duplicated or reordered.
type Message struct {
	From ID
	To   ID // the destination; another receiver forwards the message
	Via  ID // the node that has forwarded it, 0 if none has

	// Seq numbers the sender's beats; a message between beats has Seq 0. Echo is the highest Seq
	// that the sender has received from To. Direct is the highest Seq that arrived from To without
	// a detour.
	Seq    uint64
	Echo   uint64
	Direct uint64

	// Term is the highest term whose head the sender knows. Leader is that head.
	Term   uint64
	Leader ID
	// Promised is the latest beat for which the sender, a member, has promised to elect no
	// other head for a while. To has sent that beat as the head of Term.
	Promised uint64
	// Grant leases To the right to act, for that time after To sent the beat that Echo names. Only
	// the head grants leases.
	Grant time.Duration

	// Epoch is the number of verdicts that the sender knows. Verdicts are the next ones that
	// To lacks.
	Epoch    uint64
	Verdicts []job.Verdict
	// Lost is the reason why To was declared lost, "" if To was not declared lost.
	Lost string

	// Changes is the number of changes of the members that the sender knows. If To knows
	// fewer, Members are the members after these changes.
	Changes uint64
	Members []ID

	Sightings []detect.Sighting // sent to members
	Raft      []*raftpb.Message // sent between members
}

// spoken lists the messages of Raft that members send each other here. It excludes the
// transfer of leadership, which would bypass the leases, and the proposals of followers.
// Members change by decisions only.
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
