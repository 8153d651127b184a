package decision

import (
	"maps"

	"github.com/intrahpc/intra/internal/job"
)

// setDegrees records how many replicas ranks are to have from now on.
func (s *State) setDegrees(e Entry) {
	if s.Degrees == nil {
		s.Degrees = make(map[int]int)
	}
	maps.Copy(s.Degrees, e.Degrees)
}

// depart marks the processes dead that recovery lets go in the cut of e, because their ranks have
// too many replicas. It skips a process that has died or been relieved since recovery chose it,
// and one that has become the last replica of its rank.
func (s *State) depart(e Entry) (verdicts []job.Verdict) {
	if e.Recovery.Generation != s.Recovery.Generation {
		return nil
	}
	for _, d := range e.Recovery.Departed {
		var others []job.Process
		for p := range s.Places {
			if p.Rank == d.Process.Rank && p != d.Process {
				others = append(others, p)
			}
		}
		if !s.Recovery.Departed(d, others) {
			continue
		}
		at := s.Places[d.Process]
		at.Status = Dead
		s.Places[d.Process] = at
		verdicts = append(verdicts, s.verdict(d.Process, d.Incarnation, Entry{Kind: Recovery, At: e.At, Cause: job.CauseDropped, Text: "its rank has fewer replicas from here on"}))
	}
	return verdicts
}

// Departs reports whether a process has left its rank in a cut.
func (s *State) Departs(e job.Endpoint) bool {
	for _, v := range s.Verdicts {
		if v.Process == e.Process && v.Incarnation == e.Incarnation {
			return v.Cause == job.CauseDropped
		}
	}
	return false
}
