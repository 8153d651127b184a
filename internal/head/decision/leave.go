package decision

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// Leave is a host, or one process, that is to leave the job.
type Leave struct {
	Node        detect.ID     `json:"node,omitempty"`   // 0 if a process leaves
	Process     job.Process   `json:"process,omitzero"` // with Incarnation
	Incarnation uint32        `json:"incarnation,omitempty"`
	Reason      string        `json:"reason"`
	At          time.Duration `json:"at"`
	Until       time.Duration `json:"until,omitempty"` // 0: no bound
	Done        time.Duration `json:"done,omitempty"`  // when the last process had left; 0: not yet
	From        detect.ID     `json:"from,omitempty"`  // the node of the process
}

// leave records that a host or a process is to leave. It replaces an earlier request for the
// same host or process, unless that one is done.
func (s *State) leave(e Entry) {
	l := Leave{Node: e.Node, Process: e.Process, Incarnation: e.Incarnation, Reason: e.Text, At: e.At, Until: e.Until, From: e.Node}
	if l.Node == 0 {
		l.From = s.Places[e.Process].Node
	}
	for i, old := range s.Leaving {
		if old.Node == l.Node && old.Process == l.Process && old.Incarnation == l.Incarnation && old.Done == 0 {
			s.Leaving[i].Reason, s.Leaving[i].Until = l.Reason, l.Until
			return
		}
	}
	s.Leaving = append(s.Leaving, l)
}

// Leaves reports whether a node is to leave.
func (s *State) Leaves(node detect.ID) bool {
	return slices.ContainsFunc(s.Leaving, func(l Leave) bool { return l.Node == node })
}

// HasLeft reports whether a node was to leave, and holds neither a process in a slot nor a process
// that is to relieve another one.
func (s *State) HasLeft(node detect.ID) bool {
	return s.Leaves(node) && !s.holds(node)
}

// emptied marks each request whose host or process has left as done.
func (s *State) emptied(at time.Duration) {
	for i := range s.Leaving {
		l := &s.Leaving[i]
		if l.Done > 0 || l.Node == 0 && s.Places[l.Process].Incarnation == l.Incarnation && s.Places[l.Process].Status != Dead || l.Node != 0 && s.holds(l.Node) {
			continue
		}
		l.Done = max(at, 1)
	}
}

// holds reports whether a process in a slot, or one that is to relieve another, is on the node.
func (s *State) holds(node detect.ID) bool {
	for _, at := range s.Reliefs {
		if at.Node == node {
			return true
		}
	}
	for _, at := range s.Places {
		if at.Node == node && at.Status != Dead {
			return true
		}
	}
	return false
}

// place puts a process beside the live one in a slot, to relieve it. The new process is dead at
// once if the live one has died meanwhile, or if the node of the new one is lost.
func (s *State) place(e Entry, place Place) []job.Verdict {
	loss, lost := s.Lost[e.Node]
	there := true
	if e.ID != e.Process {
		spare := s.Spares[e.ID]
		there, place.PID = spare.Status == Running, spare.PID
		s.unspare(e.ID)
	}
	s.Reliefs[e.Process] = place
	lives := s.Recovery.Relief(e.Process, e.Incarnation)
	switch {
	case lost:
		return []job.Verdict{s.dieRelief(e.Process, Entry{Kind: Lost, At: e.At, Cause: job.CauseHost, Text: loss.Text})}
	case !there:
		return []job.Verdict{s.dieRelief(e.Process, Entry{Kind: Died, At: e.At, Cause: job.CauseExit, Text: "the spare process has ended"})}
	case !lives:
		return []job.Verdict{s.dieRelief(e.Process, Entry{Kind: Withdrawn, At: e.At, Cause: job.CauseExit, Text: "the process that it was to relieve is dead"})}
	}
	return nil
}

// dieRelief declares a process dead that was to relieve the one in a slot. The one in the slot
// goes on.
func (s *State) dieRelief(p job.Process, e Entry) job.Verdict {
	at := s.Reliefs[p]
	at.Status = Dead
	delete(s.Reliefs, p)
	s.Former = append(s.Former, Predecessor{Process: p, Place: at, Loose: true, Never: true})
	s.Recovery.Died(p, at.Incarnation, false, e.At)
	return s.verdict(p, at.Incarnation, e)
}

// succeed gives the slot of a process that has just died to the process that was to relieve
// it.
func (s *State) succeed(p job.Process) {
	if next, ok := s.Reliefs[p]; ok {
		delete(s.Reliefs, p)
		s.Former = append(s.Former, Predecessor{Process: p, Place: s.Places[p], Loose: true})
		s.Places[p] = next
	}
}

// relieve gives the slots of live processes to the processes that relieve them, unless these
// have died. The relieved processes are dead from then on. relieve enters their nodes into
// left.
func (s *State) relieve(e Entry, left map[job.Process]detect.ID) (verdicts []job.Verdict) {
	for _, j := range e.Recovery.Joined {
		next, ok := s.Reliefs[j.Process]
		if !j.Relieves || !ok || next.Incarnation != j.Incarnation {
			continue
		}
		old := s.Places[j.Process]
		left[j.Process] = old.Node
		old.Status = Dead
		s.Places[j.Process] = old
		s.succeed(j.Process)
		verdicts = append(verdicts, s.verdict(j.Process, old.Incarnation, Entry{Kind: Recovery, At: e.At, Cause: job.CauseRelieved, Text: "another process has taken over from it"}))
	}
	return verdicts
}
