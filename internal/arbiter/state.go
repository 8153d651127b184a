package arbiter

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/job"
)

// Standing is how a process stands.
type Standing string

// The standings.
const (
	Running Standing = "running"
	Done    Standing = "finished"
	Dead    Standing = "dead"
)

// Place is what is known of one process: its latest life.
type Place struct {
	Incarnation uint32   `json:"incarnation"`
	Node        ID       `json:"node"`
	PID         int      `json:"pid,omitempty"`
	Standing    Standing `json:"standing"`
}

// Loss is why a node was declared lost: who had heard it last and when, as of
// the verdict.
type Loss struct {
	Text        string             `json:"text"`
	Testimonies []detect.Testimony `json:"testimonies"`
}

// State is what has been decided: all that a successor of the head knows. It
// is made by applying entries in the order of the log and by nothing else, so
// it is the same everywhere.
type State struct {
	Applied  uint64                `json:"applied"` // number of entries
	Notes    map[string][]byte     `json:"notes"`
	Places   map[job.Process]Place `json:"places"`
	Through  map[int]bool          `json:"through"`  // ranks that have finished in a replica
	Verdicts []job.Verdict         `json:"verdicts"` // epoch i+1 at index i
	Lost     map[ID]Loss           `json:"lost"`     // nodes
	Started  bool                  `json:"started"`
	Released bool                  `json:"released"`
	Decided  bool                  `json:"decided"`
	Code     int                   `json:"code"`
	Text     string                `json:"text"`
	Members  []ID                  `json:"members"` // who keeps the decisions, in order
	Changes  uint64                `json:"changes"` // of Members so far
}

// NewState returns the state before the first decision.
func NewState() *State {
	return &State{
		Notes:   make(map[string][]byte),
		Places:  make(map[job.Process]Place),
		Through: make(map[int]bool),
		Lost:    make(map[ID]Loss),
	}
}

// Apply takes the next entry of the log in and returns the verdicts that
// follow from it. What contradicts earlier entries (a second death, a process
// that finishes after its death, a place on a lost node) changes nothing: the
// first decision counts.
func (s *State) Apply(e Entry) []job.Verdict {
	s.Applied++
	p := s.Places[e.Process]
	current := p.Standing == Running && (e.Incarnation == 0 || e.Incarnation == p.Incarnation)
	switch e.Kind {
	case Note:
		if s.Notes[e.Key] = e.Value; len(e.Value) == 0 {
			delete(s.Notes, e.Key)
		}
	case Placed:
		if _, lost := s.Lost[e.Node]; !lost && e.Incarnation > p.Incarnation {
			s.Places[e.Process] = Place{e.Incarnation, e.Node, e.PID, Running}
		}
	case Started:
		s.Started = true
	case Died:
		if p.Standing != "" && p.Standing != Dead && (e.Incarnation == 0 || e.Incarnation == p.Incarnation) {
			return []job.Verdict{s.die(e.Process, e.Cause, e.Text)}
		}
	case Lost:
		if _, lost := s.Lost[e.Node]; !lost {
			s.Lost[e.Node] = Loss{e.Text, e.Testimonies}
			return s.loseNode(e)
		}
	case Finished:
		if current {
			p.Standing = Done
			s.Places[e.Process] = p
			s.Through[e.Process.Rank] = true
		}
	case Decided:
		if !s.Decided {
			s.Decided, s.Code, s.Text = true, e.Code, e.Text
		}
	case Released:
		s.Released = true
	case Added, Removed:
		s.change(e)
	}
	return nil
}

// change adds or removes a member.
func (s *State) change(e Entry) {
	at, is := slices.BinarySearch(s.Members, e.Node)
	switch {
	case is == (e.Kind == Added):
		return
	case is:
		s.Members = slices.Delete(s.Members, at, at+1)
	default:
		s.Members = slices.Insert(s.Members, at, e.Node)
	}
	s.Changes++
}

// loseNode declares all that runs on a lost node dead, in order of rank.
func (s *State) loseNode(e Entry) (verdicts []job.Verdict) {
	for _, p := range s.processes() {
		if at := s.Places[p]; at.Node == e.Node && at.Standing != Dead {
			verdicts = append(verdicts, s.die(p, job.CauseHost, e.Text))
		}
	}
	return verdicts
}

func (s *State) die(p job.Process, cause job.Cause, text string) job.Verdict {
	at := s.Places[p]
	at.Standing = Dead
	s.Places[p] = at
	v := job.Verdict{Epoch: uint64(len(s.Verdicts) + 1), Process: p, Cause: cause, Detail: text}
	s.Verdicts = append(s.Verdicts, v)
	return v
}

func (s *State) processes() []job.Process {
	all := make([]job.Process, 0, len(s.Places))
	for p := range s.Places {
		all = append(all, p)
	}
	slices.SortFunc(all, job.Process.Compare)
	return all
}

// snapshot encodes the state. Equal states have equal snapshots.
func (s *State) snapshot() []byte {
	b, err := json.Marshal(s) // sorts maps by key
	if err != nil {
		panic("arbiter: a state that cannot be encoded: " + err.Error()) // no type in it can fail
	}
	return b
}

// restore reads a snapshot.
func restore(b []byte) (*State, error) {
	s := NewState()
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("read a snapshot of the decisions: %w", err)
	}
	return s, nil
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() *State {
	c, err := restore(s.snapshot())
	if err != nil {
		panic("arbiter: a snapshot that cannot be read: " + err.Error()) // it has just been written
	}
	return c
}
