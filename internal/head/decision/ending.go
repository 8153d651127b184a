package decision

import "time"

// End is why the job is interrupted: it writes a last set of files, and ends.
type End struct {
	Reason string        `json:"reason"`
	At     time.Duration `json:"at"`
	Until  time.Duration `json:"until,omitempty"` // 0: no bound
	From   uint64        `json:"from"`            // number of the first set that can be the last one
}

// ending records that the job is interrupted. The first reason counts.
func (s *State) ending(e Entry) {
	if s.Ending != nil || s.Opened == nil {
		return
	}
	s.Ending = &End{Reason: e.Text, At: e.At, Until: e.Until, From: max(s.Recovery.NextSet, s.Opened.First)}
}

// Newest returns the newest set of files of this job that is complete, nil if there is none.
func (s *State) Newest() (newest *Set) {
	for i := range s.Sets {
		if s.Sets[i].Done != nil {
			newest = &s.Sets[i]
		}
	}
	return newest
}
