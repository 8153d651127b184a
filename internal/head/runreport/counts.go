package runreport

import (
	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
)

// Counts are sums over all processes.
type Counts struct {
	Sections      int64 `json:"sections"`       // sections completed
	TasksRun      int64 `json:"tasks_run"`      // task bodies run
	TasksReceived int64 `json:"tasks_received"` // task results received from a peer
	TasksRerun    int64 `json:"tasks_rerun"`    // tasks run in place of a dead peer, or in a second run
	UpdateBytes   int64 `json:"update_bytes"`   // payload of updates sent
	UpdatesTorn   int64 `json:"updates_torn"`   // updates that were only partially received
	UpdatesLost   int64 `json:"updates_lost"`   // updates that were lost with a connection
	// links made to other processes, each counted at both ends; within a host, links between
	// ranks are made when they are first used
	Links int64 `json:"links"`
}

// add adds the counts of a process.
func (c *Counts) add(s job.Stats) {
	c.Sections += s.Sections
	c.TasksRun += s.TasksRun
	c.TasksReceived += s.TasksReceived
	c.TasksRerun += s.TasksRerun
	c.UpdateBytes += s.UpdateBytes
	c.UpdatesTorn += s.UpdatesTorn
	c.UpdatesLost += s.UpdatesLost
	c.Links += s.Links
}

// TaskType holds the sums over all processes for one type of task.
type TaskType struct {
	job.TaskStats
	// share of section_seconds that was not spent waiting: 1 if all transfers were hidden
	// behind computation; 0 if there were no such sections
	Overlap  float64 `json:"overlap"`
	Sharers  int     `json:"sharers"`          // number of processes that shared such sections with other replicas
	Unshared float64 `json:"unshared_seconds"` // time that these sections would have taken each of these processes alone, on average
	Saved    float64 `json:"saved_seconds"`    // time that sharing saved each of these processes, on average; negative if it cost time
	// efficiency of the replicas in these sections: unshared_seconds divided by the time that
	// the sections took and by the number of replicas. 1 is perfect. Replicas that each run
	// all tasks have 1 divided by their number
	E float64 `json:"e"`

	alone, took, cost float64 // sums over the sharers; cost is took times the number of replicas
}

// add adds the counts of a process of a rank with that number of replicas. A type counts as
// shared if any process shares it.
func (a *TaskType) add(b job.TaskStats, replicas int) {
	if unshared(b) {
		b.AloneSeconds = b.SectionSeconds
	}
	a.Run += b.Run
	a.Received += b.Received
	a.Seconds += b.Seconds
	a.WaitSeconds += b.WaitSeconds
	a.SectionSeconds += b.SectionSeconds
	a.AloneSeconds += b.AloneSeconds
	if b.SectionSeconds > 0 && replicas > 1 {
		a.Sharers++
		a.alone, a.took, a.cost = a.alone+b.AloneSeconds, a.took+b.SectionSeconds, a.cost+float64(replicas)*b.SectionSeconds
		n := float64(a.Sharers)
		a.Unshared, a.Saved, a.E = a.alone/n, (a.alone-a.took)/n, a.alone/a.cost
	}
	a.UpdateBytes += b.UpdateBytes
	a.Stored += b.Stored
	a.ReadBytes += b.ReadBytes
	a.WrittenBytes += b.WrittenBytes
	for name, c := range b.Counters {
		if a.Counters == nil {
			a.Counters = make(map[string]counters.Count)
		}
		c.Add(a.Counters[name])
		a.Counters[name] = c
	}
	if a.SectionSeconds > 0 {
		a.Overlap = 1 - min(a.WaitSeconds/a.SectionSeconds, 1)
	}
	a.DecidedAfter = max(a.DecidedAfter, b.DecidedAfter)
	if a.Decision != "share" {
		a.Decision = b.Decision
	}
}

// unshared reports whether each replica has run all tasks of all sections that begin with a
// task of this type.
func unshared(t job.TaskStats) bool {
	return t.Decision == "replicate" && t.Received == 0 && t.UpdateBytes == 0 && t.Stored == 0
}
