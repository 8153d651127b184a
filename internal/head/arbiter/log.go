package arbiter

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/intrahpc/intra/internal/head/decision"
)

// replica is one member's copy of the log: Raft without its clock. Node decides when a member
// stands for election and for which member it votes, so the timeouts of Raft never expire.
type replica struct {
	self    ID
	node    *raft.RawNode
	storage *raft.MemoryStorage
	state   *decision.State
	index   uint64 // index of the last applied entry
	term    uint64 // term of the last applied entry
	ticks   int
	keep    uint64 // number of entries kept for members that are behind
	broken  error
}

const (
	// keepEntries bounds how far a member may be behind. If it lacks more entries, it gets a
	// snapshot.
	keepEntries = 1024
	// resend is the number of ticks after which an unanswered snapshot counts as lost.
	resend = 20
)

func newReplica(self ID, members []ID) (*replica, error) {
	storage := raft.NewMemoryStorage()
	state := decision.NewState()
	state.Members = slices.Clone(members)
	conf := new(raftpb.ConfState)
	for _, m := range members {
		conf.Voters = append(conf.Voters, uint64(m))
	}
	// All members begin with the same empty snapshot, as if they had agreed on it.
	first := &raftpb.Snapshot{
		Data:     state.Snapshot(),
		Metadata: &raftpb.SnapshotMetadata{ConfState: conf, Index: new(uint64(1)), Term: new(uint64(1))},
	}
	if err := storage.ApplySnapshot(first); err != nil {
		return nil, fmt.Errorf("create the decision log: %w", err)
	}
	if err := storage.SetHardState(&raftpb.HardState{Term: new(uint64(1)), Vote: new(uint64(0)), Commit: new(uint64(1))}); err != nil {
		return nil, fmt.Errorf("create the decision log: %w", err)
	}
	node, err := raft.NewRawNode(&raft.Config{
		ID:                        uint64(self),
		ElectionTick:              math.MaxInt32,
		HeartbeatTick:             1,
		Storage:                   storage,
		Applied:                   1,
		MaxSizePerMsg:             16 << 10,
		MaxInflightMsgs:           64,
		PreVote:                   true,
		DisableProposalForwarding: true,
		Logger:                    quiet{},
	})
	if err != nil {
		return nil, fmt.Errorf("create the decision log: %w", err)
	}
	return &replica{self: self, node: node, storage: storage, state: state, index: 1, term: 1, keep: keepEntries}, nil
}

// guarded runs a call into Raft. Raft panics when a malicious member or a bug breaks its
// rules; after that this member no longer takes part.
func (r *replica) guarded(f func() error) error {
	if r.broken != nil {
		return r.broken
	}
	defer func() {
		if p := recover(); p != nil {
			r.broken = fmt.Errorf("the decision log is corrupt: %v", p)
		}
	}()
	return f()
}

func (r *replica) status() raft.BasicStatus { return r.node.BasicStatus() }

func (r *replica) leads() bool { return r.broken == nil && r.status().RaftState == raft.StateLeader }

// behind reports whether a member lacks decisions that this leader has applied.
func (r *replica) behind(id ID) bool {
	behind := true
	r.node.WithProgress(func(p uint64, _ raft.ProgressType, at tracker.Progress) {
		if p == uint64(id) {
			behind = at.Match < r.index
		}
	})
	return behind
}

// settled reports whether this leader has applied an entry of its own term, and with it all
// decisions of its predecessors.
func (r *replica) settled() bool { return r.leads() && r.term == r.status().GetTerm() }

// stepDown makes this leader a follower: it passes Raft a message of the next term, which a leader
// obeys.
func (r *replica) stepDown() {
	for _, id := range r.state.Members {
		if id != r.self {
			_ = r.step(&raftpb.Message{Type: raftpb.MsgHeartbeatResp.Enum(), From: new(uint64(id)), To: new(uint64(r.self)), Term: new(r.status().GetTerm() + 1)}) // drain reports a broken log
			return
		}
	}
}

// step passes a message of another member to Raft.
func (r *replica) step(m *raftpb.Message) error {
	return r.guarded(func() error {
		err := r.node.Step(m)
		if errors.Is(err, raft.ErrProposalDropped) {
			err = nil
		}
		return err
	})
}

func (r *replica) campaign() { _ = r.guarded(r.node.Campaign) } // a member that may not stand yet tries again

// tick makes a leader send heartbeats and repeat lost messages.
func (r *replica) tick() {
	_ = r.guarded(func() error { // leads checks broken
		if r.ticks++; r.ticks%resend == 0 {
			var waiting []uint64
			r.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
				if p.State == tracker.StateSnapshot {
					waiting = append(waiting, id)
				}
			})
			for _, id := range waiting {
				r.node.ReportSnapshot(id, raft.SnapshotFailure)
			}
		}
		r.node.Tick()
		return nil
	})
}

func (r *replica) propose(data []byte) error {
	return r.guarded(func() error { return r.node.Propose(data) })
}

// drain sends the messages of Raft, and applies the decided entries.
func (r *replica) drain(send func(*raftpb.Message), applied func(decision.Entry)) error {
	return r.guarded(func() error {
		for r.node.HasReady() {
			ready := r.node.Ready()
			if !raft.IsEmptySnap(ready.Snapshot) {
				if err := r.storage.ApplySnapshot(ready.Snapshot); err != nil {
					return fmt.Errorf("restore a snapshot of the decisions: %w", err)
				}
				if err := r.restore(ready.Snapshot); err != nil {
					return err
				}
			}
			if err := r.storage.Append(ready.Entries); err != nil {
				return fmt.Errorf("append to the decision log: %w", err)
			}
			if !raft.IsEmptyHardState(ready.HardState) {
				if err := r.storage.SetHardState(ready.HardState); err != nil {
					return fmt.Errorf("keep the term: %w", err)
				}
			}
			for _, m := range ready.Messages {
				send(m)
			}
			for _, e := range ready.CommittedEntries {
				if err := r.apply(e, applied); err != nil {
					return err
				}
			}
			r.node.Advance(ready)
		}
		return r.cut()
	})
}

func (r *replica) apply(e *raftpb.Entry, applied func(decision.Entry)) error {
	r.index, r.term = e.GetIndex(), e.GetTerm()
	if len(e.GetData()) == 0 { // the first entry of a new leader
		return nil
	}
	entry, err := decision.Decode(e.GetData())
	whole := false
	if err == nil {
		entry, whole, err = r.state.Join(entry)
	}
	if err != nil {
		r.broken = err
		return err
	}
	if !whole {
		return nil
	}
	before := r.state.Changes
	applied(entry)
	if r.state.Changes == before {
		return nil
	}
	return r.applyMembership(entry)
}

// applyMembership changes the members that Raft counts. It makes a snapshot that names the
// new members, which a member without a log receives.
func (r *replica) applyMembership(e decision.Entry) error {
	kind := raftpb.ConfChangeAddNode
	if e.Kind == decision.Removed {
		kind = raftpb.ConfChangeRemoveNode
	}
	conf := r.node.ApplyConfChange(&raftpb.ConfChange{Type: kind.Enum(), NodeId: new(uint64(e.Node))})
	if _, err := r.storage.CreateSnapshot(r.index, conf, r.state.Snapshot()); err != nil {
		return fmt.Errorf("make a snapshot of the decisions: %w", err)
	}
	return nil
}

// restore replaces the state by the state in a snapshot.
func (r *replica) restore(s *raftpb.Snapshot) error {
	state, err := decision.Restore(s.GetData())
	if err != nil {
		r.broken = err
		return err
	}
	r.state, r.index, r.term = state, s.GetMetadata().GetIndex(), s.GetMetadata().GetTerm()
	return nil
}

// cut removes old entries from the log.
func (r *replica) cut() error {
	first, err := r.storage.FirstIndex()
	if err != nil || r.index < first+2*r.keep {
		return err
	}
	if _, err := r.storage.CreateSnapshot(r.index, nil, r.state.Snapshot()); err != nil && !errors.Is(err, raft.ErrSnapOutOfDate) {
		return fmt.Errorf("make a snapshot of the decisions: %w", err)
	}
	if err := r.storage.Compact(r.index - r.keep); err != nil {
		return fmt.Errorf("truncate the decision log: %w", err)
	}
	return nil
}

// quiet is Raft's logger. It discards messages, which are of no use to a user. A fatal
// message becomes a panic, which guarded turns into an error.
type quiet struct{}

func (quiet) Debug(...any)            {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Info(...any)             {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warning(...any)          {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Error(...any)            {}
func (quiet) Errorf(string, ...any)   {}

func (quiet) Fatal(v ...any)                 { panic(fmt.Sprint(v...)) }
func (quiet) Fatalf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
func (quiet) Panic(v ...any)                 { panic(fmt.Sprint(v...)) }
func (quiet) Panicf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
