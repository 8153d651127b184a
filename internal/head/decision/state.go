package decision

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Status says what has become of a process.
type Status string

// The states.
const (
	Running Status = "running"
	Done    Status = "finished"
	Dead    Status = "dead"
)

// Place is what is known of the process in a place, or of a spare.
type Place struct {
	Incarnation uint32      `json:"incarnation"`
	Node        detect.ID   `json:"node"`
	ID          job.Process `json:"id"` // by which its agent knows it
	PID         int         `json:"pid,omitempty"`
	Status      Status      `json:"status"`
}

// Predecessor is a process that had a place before the one which has it now.
type Predecessor struct {
	Process job.Process `json:"process"`
	Place
}

// Verdict is one that all processes hear of, and when it was made.
type Verdict struct {
	job.Verdict
	At        time.Duration `json:"at"`                  // since all had joined
	Withdrawn bool          `json:"withdrawn,omitempty"` // no failure: nobody needed it, or it never was
}

// Loss is why a node was declared lost: who had heard it last and when, as of
// the verdict.
type Loss struct {
	Text        string             `json:"text"`
	Testimonies []detect.Testimony `json:"testimonies"`
	At          time.Duration      `json:"at"`
}

// Injection is a failure of the random schedule.
type Injection struct {
	Process     job.Process   `json:"process"`
	Incarnation uint32        `json:"incarnation"` // 0: nobody was there
	At          time.Duration `json:"at"`
}

// State is what has been decided: all that a successor of the head knows. It
// is made by applying entries in the order of the log and by nothing else, so
// it is the same everywhere.
type State struct {
	Applied    uint64                `json:"applied"` // number of entries
	Latest     time.Duration         `json:"latest"`  // of Entry.At
	Places     map[job.Process]Place `json:"places"`
	Spares     map[job.Process]Place `json:"spares"` // by ID; Dead: it is gone, or has a place
	Former     []Predecessor         `json:"former,omitempty"`
	Through    map[int]bool          `json:"through"`  // ranks in which the program has returned in a replica
	Drained    map[int]bool          `json:"drained"`  // of these, the ones of whose messages nobody lacks any
	Verdicts   []Verdict             `json:"verdicts"` // epoch i+1 at index i
	Lost       map[detect.ID]Loss    `json:"lost"`     // nodes
	Fired      map[int]uint32        `json:"fired"`    // scheduled kills that have come about, in which incarnation
	Injections []Injection           `json:"injections,omitempty"`
	Recovery   recovery.Snapshot     `json:"recovery"`
	Replaced   []Replaced            `json:"replaced,omitempty"`
	Rollbacks  []Rollback            `json:"rollbacks,omitempty"`
	Backups    int                   `json:"backups,omitempty"` // that were complete
	Backup     uint64                `json:"backup,omitempty"`  // the last of them

	Opened   *Folders    `json:"opened,omitempty"` // nil: not yet
	Sets     []Set       `json:"sets,omitempty"`   // by number
	Started  bool        `json:"started"`
	Released bool        `json:"released"`
	Decided  bool        `json:"decided"`
	Code     int         `json:"code"`
	Text     string      `json:"text"`
	Members  []detect.ID `json:"members"` // who keeps the decisions, in order
	Changes  uint64      `json:"changes"` // of Members so far
	Parts    []byte      `json:"parts,omitempty"`
}

// NewState returns the state before the first decision.
func NewState() *State {
	return &State{
		Places:  make(map[job.Process]Place),
		Spares:  make(map[job.Process]Place),
		Through: make(map[int]bool),
		Drained: make(map[int]bool),
		Lost:    make(map[detect.ID]Loss),
		Fired:   make(map[int]uint32),
	}
}

// Join takes the next entry of the log and returns what is to be applied: the
// entry itself, or the one whose last piece it is. It returns false for the
// other pieces. A first piece drops what a head has left that was lost between
// two of its own.
func (s *State) Join(e Entry) (Entry, bool, error) {
	if e.Kind != Part {
		return e, true, nil
	}
	if e.First {
		s.Parts = nil
	}
	s.Parts = append(s.Parts, e.Value...)
	if !e.Last {
		s.Applied++
		return Entry{}, false, nil
	}
	whole, err := Decode(s.Parts)
	if s.Parts = nil; err == nil && whole.Kind == Part {
		err = fmt.Errorf("%w: pieces of a piece", ErrEntry)
	}
	return whole, err == nil, err
}

// Apply takes the next entry in and returns the verdicts that follow from it.
// Pieces are no entries: see Join.
func (s *State) Apply(e Entry) []job.Verdict {
	s.Applied++
	s.Latest = max(s.Latest, e.At)
	switch e.Kind {
	case Born:
		return s.bear(e)
	case Spawned:
		if p, ok := s.Places[e.Process]; ok && p.Incarnation == e.Incarnation {
			p.PID = e.PID
			s.Places[e.Process] = p
		} else if p, ok := s.Spares[e.Process]; ok && p.Incarnation == e.Incarnation {
			p.PID = e.PID
			s.Spares[e.Process] = p
		}
	case Started:
		s.Started = true
	case Died, Withdrawn:
		return s.end(e)
	case Lost:
		if _, lost := s.Lost[e.Node]; !lost {
			s.Lost[e.Node] = Loss{e.Text, e.Testimonies, e.At}
			return s.loseNode(e)
		}
	case Finished:
		if p := s.Places[e.Process]; p.Status == Running && p.Incarnation == e.Incarnation && s.current(e) {
			s.Recovery.Finished(e.Process, e.Incarnation, e.Generation)
			p.Status = Done
			s.Places[e.Process] = p
			s.Through[e.Process.Rank] = true
		}
	case Drained:
		if p := s.Places[e.Process]; p.Status == Done && p.Incarnation == e.Incarnation && s.current(e) {
			s.Recovery.Drained(e.Process, e.Incarnation, e.Generation)
			s.Drained[e.Process.Rank] = true
		}
	case Fired:
		s.Fired[e.Index] = e.Incarnation
	case Injected:
		s.Injections = append(s.Injections, Injection{e.Process, e.Incarnation, e.At})
	case Recovery:
		s.recover(e)
	case Opened:
		s.Opened = e.Opened
	case SetWhole:
		s.Recovery.Wrote(e.Set.Number, e.Set.Files)
		s.mark(*e.Set)
	case SetDone:
		s.Recovery.End(e.Done.Set)
		s.mark(Set{Number: e.Done.Set, Cut: e.Done.Point, Done: e.Done})
	case SetAbandoned:
		s.Recovery.End(e.Abandoned.Set)
		s.mark(Set{Number: e.Abandoned.Set, Abandoned: e.Abandoned})
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

// bear gives a process its place. There is one process at a time in a place. One
// whose node is lost by then, or that is a spare which has died, has it and is
// dead.
func (s *State) bear(e Entry) []job.Verdict {
	loss, lost := s.Lost[e.Node]
	place := Place{Incarnation: e.Incarnation, Node: e.Node, ID: e.ID, Status: Running}
	if e.Spare {
		if lost {
			place.Status = Dead
		}
		s.Spares[e.Process] = place
		return nil
	}
	before, taken := s.Places[e.Process]
	if taken && (before.Status != Dead || before.Incarnation >= e.Incarnation) {
		return nil
	}
	if taken {
		s.Former = append(s.Former, Predecessor{e.Process, before})
	}
	there := true
	if e.ID != e.Process {
		spare := s.Spares[e.ID]
		there, place.PID = spare.Status == Running, spare.PID
		s.leave(e.ID)
	}
	s.Places[e.Process] = place
	s.Recovery.Born(e.Process, e.Incarnation)
	switch {
	case lost:
		return []job.Verdict{s.die(e.Process, Entry{Kind: Lost, At: e.At, Cause: job.CauseHost, Text: loss.Text})}
	case !there:
		return []job.Verdict{s.die(e.Process, Entry{Kind: Died, At: e.At, Cause: job.CauseExit, Text: "the spare process has ended"})}
	}
	return nil
}

// end declares one process dead.
func (s *State) end(e Entry) []job.Verdict {
	if p, ok := s.Spares[e.Process]; ok && p.Incarnation == e.Incarnation {
		s.leave(e.Process) // it was nobody's peer
		return nil
	}
	p := s.Places[e.Process]
	if p.Status == "" || p.Status == Dead || p.Incarnation != e.Incarnation {
		return nil
	}
	if e.Kind == Withdrawn {
		e.Cause = job.CauseExit
	}
	return []job.Verdict{s.die(e.Process, e)}
}

// loseNode declares all that runs on a lost node dead, in order of rank.
func (s *State) loseNode(e Entry) (verdicts []job.Verdict) {
	e.Cause = job.CauseHost
	for _, p := range s.processes() {
		if at := s.Places[p]; at.Node == e.Node && at.Status != Dead {
			verdicts = append(verdicts, s.die(p, e))
		}
	}
	for id, spare := range s.Spares {
		if spare.Node == e.Node {
			s.leave(id)
		}
	}
	return verdicts
}

// leave: a spare is one no more.
func (s *State) leave(id job.Process) {
	if at, ok := s.Spares[id]; ok {
		at.Status = Dead
		s.Spares[id] = at
	}
}

func (s *State) die(p job.Process, e Entry) job.Verdict {
	at := s.Places[p]
	at.Status = Dead
	s.Places[p] = at
	if e.Kind == Withdrawn {
		s.Recovery.Withdrawn(p, at.Incarnation, e.At)
	} else {
		s.Recovery.Died(p, at.Incarnation, e.Cause == job.CauseExit || e.Cause == job.CausePanic, e.At)
	}
	v := job.Verdict{Epoch: uint64(len(s.Verdicts) + 1), Process: p, Incarnation: at.Incarnation, Cause: e.Cause, Detail: e.Text, Through: s.Drained[p.Rank]}
	s.Verdicts = append(s.Verdicts, Verdict{v, e.At, e.Kind == Withdrawn})
	return v
}

// current reports whether e is about the generation that all are in now. The end of the
// program does not count while the job goes back.
func (s *State) current(e Entry) bool {
	return e.Generation == s.Recovery.Generation && !s.Recovery.Rolling
}

func (s *State) processes() []job.Process {
	all := make([]job.Process, 0, len(s.Places))
	for p := range s.Places {
		all = append(all, p)
	}
	slices.SortFunc(all, job.Process.Compare)
	return all
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

// Snapshot encodes the state. Equal states have equal snapshots.
func (s *State) Snapshot() []byte {
	b, err := json.Marshal(s) // sorts maps by key
	if err != nil {
		panic("decision: a state that cannot be encoded: " + err.Error()) // its entries were
	}
	return b
}

// Restore reads a snapshot.
func Restore(b []byte) (*State, error) {
	s := NewState()
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("read a snapshot of the decisions: %w", err)
	}
	return s, nil
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() *State {
	c, err := Restore(s.Snapshot())
	if err != nil {
		panic("decision: a snapshot that cannot be read: " + err.Error()) // it has just been written
	}
	return c
}
