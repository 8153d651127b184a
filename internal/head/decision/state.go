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

// Status is the status of a process.
type Status string

// The states.
const (
	Running Status = "running"
	Done    Status = "finished"
	Dead    Status = "dead"
)

// Place describes the process in a slot, or a spare.
type Place struct {
	Incarnation uint32      `json:"incarnation"`
	Node        detect.ID   `json:"node"`
	ID          job.Process `json:"id"` // the name by which its agent knows it
	PID         int         `json:"pid,omitempty"`
	Status      Status      `json:"status"`
}

// Predecessor is an earlier process of a slot.
type Predecessor struct {
	Process job.Process `json:"process"`
	Place
	// Loose means that the output of the process may have been incomplete when the next
	// process got the slot: it was relieved, or it died before it could relieve the process in
	// the slot (Never).
	Loose bool `json:"loose,omitempty"`
	Never bool `json:"never,omitempty"`
}

// Verdict is a verdict that all processes receive, with its time.
type Verdict struct {
	job.Verdict
	At        time.Duration `json:"at"`                  // time since all processes had joined
	Withdrawn bool          `json:"withdrawn,omitempty"` // no failure: the process was dismissed, or never started
	Relieved  bool          `json:"relieved,omitempty"`  // no failure: it has left its slot in a cut, to another process or for good (job.CauseDropped)
}

// Loss is the reason why a node was declared lost: the testimonies of its observers at that
// time.
type Loss struct {
	Text        string             `json:"text"`
	Testimonies []detect.Testimony `json:"testimonies"`
	At          time.Duration      `json:"at"`
}

// Injection is a failure of the random schedule.
type Injection struct {
	Process     job.Process   `json:"process"`
	Incarnation uint32        `json:"incarnation"` // 0: no process lived
	At          time.Duration `json:"at"`
}

// State is the result of all decisions. A successor of the head knows nothing else. It follows
// from applying the entries in the order of the log, and from nothing else, so all copies are
// the same.
type State struct {
	Applied    uint64                `json:"applied"` // number of applied entries
	Latest     time.Duration         `json:"latest"`  // the latest Entry.At
	Places     map[job.Process]Place `json:"places"`
	Spares     map[job.Process]Place `json:"spares"` // by ID; Dead: the spare has ended, or has a slot
	Former     []Predecessor         `json:"former,omitempty"`
	Reliefs    map[job.Process]Place `json:"reliefs,omitempty"` // processes that are to take over from the live ones in their slots
	Hosts      []Host                `json:"hosts,omitempty"`   // hosts that joined the running job, in order
	Leaving    []Leave               `json:"leaving,omitempty"` // in the order of the requests
	Degrees    map[int]int           `json:"degrees,omitempty"` // by rank: how many replicas it is to have, if that was set while the job runs
	Through    map[int]bool          `json:"through"`           // ranks in which the program has returned in a replica
	Drained    map[int]bool          `json:"drained"`           // ranks in Through whose messages have all been received
	Verdicts   []Verdict             `json:"verdicts"`          // epoch i+1 at index i
	Lost       map[detect.ID]Loss    `json:"lost"`              // by node
	Fired      map[int]uint32        `json:"fired"`             // by index of the scheduled kill: the incarnation that it has hit
	Injections []Injection           `json:"injections,omitempty"`
	Recovery   recovery.Snapshot     `json:"recovery"`
	Replaced   []Replaced            `json:"replaced,omitempty"`
	Rollbacks  []Rollback            `json:"rollbacks,omitempty"`
	Backups    int                   `json:"backups,omitempty"` // number of complete backups
	Backup     uint64                `json:"backup,omitempty"`  // safe point of the last complete backup

	Opened   *Folders `json:"opened,omitempty"` // nil: not decided yet
	Sets     []Set    `json:"sets,omitempty"`   // by number
	Ending   *End     `json:"ending,omitempty"` // nil: the job is not interrupted
	Started  bool     `json:"started"`
	Released bool     `json:"released"`
	Decided  bool     `json:"decided"`
	Code     int      `json:"code"`
	Text     string   `json:"text"`
	Parts    []byte   `json:"parts,omitempty"`
	Deciders
}

// Deciders are the nodes that decide.
type Deciders struct {
	Members  []detect.ID `json:"members"`            // the nodes that keep the decisions, in order
	Changes  uint64      `json:"changes"`            // number of changes of Members
	Resigned []detect.ID `json:"resigned,omitempty"` // nodes whose heads have handed over, in order
}

// NewState returns the state before the first decision.
func NewState() *State {
	return &State{
		Places:  make(map[job.Process]Place),
		Reliefs: make(map[job.Process]Place),
		Spares:  make(map[job.Process]Place),
		Through: make(map[int]bool),
		Drained: make(map[int]bool),
		Lost:    make(map[detect.ID]Loss),
		Fired:   make(map[int]uint32),
	}
}

// Join takes the next entry of the log and returns the entry to apply. That is the entry itself or,
// for the last piece of an entry, the reassembled entry. It returns false for the other pieces. If
// a head is lost between two pieces of an entry, the first piece of the next entry discards the
// incomplete one.
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

// Apply applies the next entry and returns the verdicts that follow from it. It accepts no
// pieces: see Join.
func (s *State) Apply(e Entry) []job.Verdict {
	s.Applied++
	s.Latest = max(s.Latest, e.At)
	verdicts := s.apply(e)
	s.emptied(e.At)
	return verdicts
}

func (s *State) apply(e Entry) []job.Verdict {
	switch e.Kind {
	case Placed:
		return s.bear(e)
	case Vacant:
		return s.vacate(e)
	case Spawned:
		if p, ok := s.Places[e.Process]; ok && p.Incarnation == e.Incarnation {
			p.PID = e.PID
			s.Places[e.Process] = p
		} else if p, ok := s.Reliefs[e.Process]; ok && p.Incarnation == e.Incarnation {
			p.PID = e.PID
			s.Reliefs[e.Process] = p
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
	case HostJoined:
		s.joinHost(e)
	case Degrees:
		s.setDegrees(e)
	case Left:
		s.leave(e)
	case Fired:
		s.Fired[e.Index] = e.Incarnation
	case Injected:
		s.Injections = append(s.Injections, Injection{e.Process, e.Incarnation, e.At})
	case Recovery:
		return s.recover(e)
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
	case Ending:
		s.ending(e)
	case Resigned:
		s.Resigned = append(s.Resigned, e.Node)
	}
	return nil
}

// bear gives a process its slot if the slot is free, or if the earlier process there is dead and
// has a lower incarnation. If the node is lost by then, or the process is a spare that has died,
// the process takes the slot and is dead at once.
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
	if e.Relieves {
		return s.place(e, place)
	}
	before, taken := s.Places[e.Process]
	if taken && (before.Status != Dead || before.Incarnation >= e.Incarnation) {
		return nil
	}
	if taken {
		s.Former = append(s.Former, Predecessor{Process: e.Process, Place: before})
		for i := range s.Former { // the head has waited for the output of them all
			s.Former[i].Loose = s.Former[i].Loose && s.Former[i].Process != e.Process
		}
	}
	there := true
	if e.ID != e.Process {
		spare := s.Spares[e.ID]
		there, place.PID = spare.Status == Running, spare.PID
		s.unspare(e.ID)
	}
	s.Places[e.Process] = place
	s.Recovery.Placed(e.Process, e.Incarnation)
	switch {
	case lost:
		return []job.Verdict{s.die(e.Process, Entry{Kind: Lost, At: e.At, Cause: job.CauseHost, Text: loss.Text})}
	case !there:
		return []job.Verdict{s.die(e.Process, Entry{Kind: Died, At: e.At, Cause: job.CauseExit, Text: "the spare process has ended"})}
	}
	return nil
}

// vacate records that a slot has no process at the start. The other processes treat the slot as if
// its process had died before its first message.
func (s *State) vacate(e Entry) []job.Verdict {
	if _, taken := s.Places[e.Process]; taken {
		return nil
	}
	s.Places[e.Process] = Place{Incarnation: 1, ID: e.Process, Status: Dead}
	s.Recovery.Vacant(e.Process)
	return []job.Verdict{s.verdict(e.Process, 1, Entry{Kind: Withdrawn, At: e.At, Cause: job.CauseExit, Text: "it was not started: no host had room for it"})}
}

// end declares one process dead.
func (s *State) end(e Entry) []job.Verdict {
	if p, ok := s.Spares[e.Process]; ok && p.Incarnation == e.Incarnation {
		s.unspare(e.Process) // a spare has no peers, so it gets no verdict
		return nil
	}
	if e.Kind == Withdrawn {
		e.Cause = job.CauseExit
	}
	if r, ok := s.Reliefs[e.Process]; ok && r.Incarnation == e.Incarnation {
		return []job.Verdict{s.dieRelief(e.Process, e)}
	}
	p := s.Places[e.Process]
	if p.Status == "" || p.Status == Dead || p.Incarnation != e.Incarnation {
		return nil
	}
	return []job.Verdict{s.die(e.Process, e)}
}

// loseNode declares all processes on a lost node dead, in the order of their slots.
func (s *State) loseNode(e Entry) (verdicts []job.Verdict) {
	e.Cause = job.CauseHost
	for _, p := range s.processes() {
		if at, ok := s.Reliefs[p]; ok && at.Node == e.Node {
			verdicts = append(verdicts, s.dieRelief(p, e))
		}
		if at := s.Places[p]; at.Node == e.Node && at.Status != Dead {
			verdicts = append(verdicts, s.die(p, e))
		}
	}
	for id, spare := range s.Spares {
		if spare.Node == e.Node {
			s.unspare(id)
		}
	}
	return verdicts
}

// unspare records that a process is not a spare any more.
func (s *State) unspare(id job.Process) {
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
	s.succeed(p)
	return s.verdict(p, at.Incarnation, e)
}

// verdict adds the verdict on a process.
func (s *State) verdict(p job.Process, incarnation uint32, e Entry) job.Verdict {
	v := job.Verdict{Epoch: uint64(len(s.Verdicts) + 1), Process: p, Incarnation: incarnation, Cause: e.Cause, Detail: e.Text, Through: s.Drained[p.Rank]}
	s.Verdicts = append(s.Verdicts, Verdict{Verdict: v, At: e.At, Withdrawn: e.Kind == Withdrawn, Relieved: e.Kind == Recovery})
	return v
}

// current reports whether e is about the present generation, and no rollback is under way.
// Only then does the end of the program count.
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
		panic("decision: a state that cannot be encoded: " + err.Error()) // cannot fail: all entries could be encoded
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
		panic("decision: a snapshot that cannot be read: " + err.Error()) // cannot fail: Snapshot has just encoded it
	}
	return c
}
