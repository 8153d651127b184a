package arbiter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

// Output names a stream of a rank.
type Output struct {
	Rank   int
	Stream int
}

// MarshalText makes an Output a key in JSON.
func (o Output) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d/%d", o.Rank, o.Stream), nil
}

// UnmarshalText reads the form that MarshalText writes.
func (o *Output) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%d/%d", &o.Rank, &o.Stream)
	return err
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
	Lines    map[Output]uint64     `json:"lines"`    // written, at least
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
		Lines:   make(map[Output]uint64),
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
	case Lines:
		o := Output{e.Process.Rank, e.Stream}
		s.Lines[o] = max(s.Lines[o], e.Count)
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

// Alive counts the replicas of a rank that are not dead.
func (s *State) Alive(rank int) (n int) {
	for p, at := range s.Places {
		if p.Rank == rank && at.Standing != Dead {
			n++
		}
	}
	return n
}

// LostRank returns the first rank, in order of the verdicts, that has no
// replica left and has not finished in one. Whether that ends the job or a
// backup brings it back is the head's to say.
func (s *State) LostRank() (v job.Verdict, lost bool) {
	for _, v := range s.Verdicts {
		if s.Alive(v.Process.Rank) == 0 && !s.Through[v.Process.Rank] {
			return s.last(v.Process.Rank), true
		}
	}
	return v, false
}

// last is the latest verdict on a rank.
func (s *State) last(rank int) (last job.Verdict) {
	for _, v := range s.Verdicts {
		if v.Process.Rank == rank {
			last = v
		}
	}
	return last
}

// Complete: every process that lives has finished.
func (s *State) Complete() bool {
	for _, at := range s.Places {
		if at.Standing == Running {
			return false
		}
	}
	return len(s.Places) > 0
}

// Victim chooses which end of a broken link has to go: the one whose rank has
// more live replicas, the higher one of two equals. ok is false if both are
// the last of their ranks, which suspicion never kills.
func (s *State) Victim(p, q job.Process) (job.Process, bool) {
	if p.Compare(q) > 0 {
		p, q = q, p
	}
	a, b := s.Alive(p.Rank), s.Alive(q.Rank)
	switch {
	case a <= 1 && b <= 1:
		return job.Process{}, false
	case a > b:
		return p, true
	}
	return q, true
}

// On lists the live processes of a node, in order of rank.
func (s *State) On(node ID) (live []job.Process) {
	for _, p := range s.processes() {
		if at := s.Places[p]; at.Node == node && at.Standing != Dead {
			live = append(live, p)
		}
	}
	return live
}

// Others says what else a rank has died of, for the text of its loss.
func (s *State) Others(v job.Verdict) string {
	var others []string
	for _, w := range s.Verdicts {
		if w.Process.Rank == v.Process.Rank && w.Epoch != v.Epoch {
			others = append(others, fmt.Sprintf("%v (%s)", w.Process, w.Cause))
		}
	}
	return strings.Join(others, ", ")
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
