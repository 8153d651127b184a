package runreport

import "github.com/intrahpc/intra/internal/job"

// Savings estimates the time that sharing has saved, from the measured times of tasks.
type Savings struct {
	alone, took, cost float64
}

// Add adds a process, elapsed seconds after the start, of a rank that began with that number of
// replicas. It estimates the time that the process would have needed alone: elapsed, with the time
// of its sections replaced by the time that they would take without sharing.
func (s *Savings) Add(replicas int, elapsed float64, st job.Stats) {
	alone := elapsed
	for _, t := range st.TaskTypes {
		alone += t.AloneSeconds - t.SectionSeconds
	}
	s.alone += alone
	s.took += elapsed
	s.cost += float64(replicas) * elapsed
}

// E returns the efficiency of the processes: the estimated time of the job without replicas,
// divided by the time of this job and by the number of replicas; 0 if unknown.
func (s *Savings) E() float64 {
	if s.cost <= 0 {
		return 0
	}
	return s.alone / s.cost
}

// Share returns the share of time that sharing has saved, relative to the time that the
// processes would have needed alone. It is negative if sharing has cost time, 0 if unknown.
func (s *Savings) Share() float64 {
	if s.alone <= 0 {
		return 0
	}
	return 1 - s.took/s.alone
}
