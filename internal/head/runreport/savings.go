package runreport

import "github.com/intrahpc/intra/internal/job"

// Savings is what sharing has saved, estimated from how long tasks have taken.
type Savings struct {
	alone, took, cost float64
}

// Add takes in a process of a rank that began with so many replicas, after so many
// seconds. Alone it would be where it is in that time but for what its sections
// took, plus what they would have taken.
func (s *Savings) Add(replicas int, elapsed float64, st job.Stats) {
	alone := elapsed
	for _, t := range st.TaskTypes {
		alone += t.AloneSeconds - t.SectionSeconds
	}
	s.alone += alone
	s.took += elapsed
	s.cost += float64(replicas) * elapsed
}

// E is how well the processes are used: the time of the job without replicas, as it
// is estimated, by that of this job and the number of replicas. It is 0 if nothing
// is known.
func (s *Savings) E() float64 {
	if s.cost <= 0 {
		return 0
	}
	return s.alone / s.cost
}

// Share is the part of the time that processes would have needed alone which sharing
// has saved them: negative if it has cost them time, 0 if nothing is known.
func (s *Savings) Share() float64 {
	if s.alone <= 0 {
		return 0
	}
	return 1 - s.took/s.alone
}
