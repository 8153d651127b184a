package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// report is what -report writes. Times are in seconds since all processes had
// joined.
type report struct {
	ExitCode    int               `json:"exit_code"`
	Error       string            `json:"error"`
	Ranks       int               `json:"ranks"`
	Degrees     []int             `json:"degrees"`
	Link        string            `json:"link"`
	Limit       float64           `json:"limit,omitempty"`  // of a link, in bytes per second
	Threads     int               `json:"threads"`          // workers of each process
	Direct      []int             `json:"direct,omitempty"` // ranks whose replicas store into each other's arrays
	WallSeconds float64           `json:"wall_seconds"`
	IntraTag    bool              `json:"intra_tag"`
	Joined      time.Time         `json:"joined,omitzero"` // by the clock of the head's host
	Failures    []failure         `json:"failures"`
	Kills       []kill            `json:"kills"`
	Weibull     *injection        `json:"weibull,omitempty"`
	Checkpoint  *checkpointReport `json:"checkpoint,omitempty"`
	Restart     *restartReport    `json:"restart,omitempty"`
	stories                       // of recovery
	counts                        // sums over all processes
	Processes   []process         `json:"processes"`

	TaskTypes map[string]taskType `json:"task_types"`
}

type counts struct {
	Sections      int64 `json:"sections"`
	TasksRun      int64 `json:"tasks_run"`
	TasksReceived int64 `json:"tasks_received"`
	TasksRerun    int64 `json:"tasks_rerun"`
	UpdateBytes   int64 `json:"update_bytes"`
	UpdatesTorn   int64 `json:"updates_torn"`
	UpdatesLost   int64 `json:"updates_lost"`
}

type kill struct {
	Process job.Process `json:"process"`
	When    string      `json:"when"`
	Fired   bool        `json:"fired"`
}

// process describes the end of one process as one of
//
//	finished  run returned nil, and the job came to its end
//	failed    run returned an error, panicked, or found something wrong
//	exited    it ended by itself in another way
//	killed    by -kill or by a signal that was not intrarun's
//	fenced    killed by intrarun, because it was stopped or cut off
//	lost      with its host
//	dismissed it was to take the place of a dead one, and was not needed any more
//	ended     with the job, which had been decided or interrupted
//	left      by a head that gave up, maybe to another one
type process struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"` // above 1 if it took the place of a dead one
	Host        string      `json:"host"`
	PID         int         `json:"pid"`
	End         string      `json:"end"`
	Status      string      `json:"status"` // of the operating system's process
	counts
}

// add sums up counts.
func (c *counts) add(s job.Stats) {
	c.Sections += s.Sections
	c.TasksRun += s.TasksRun
	c.TasksReceived += s.TasksReceived
	c.TasksRerun += s.TasksRerun
	c.UpdateBytes += s.UpdateBytes
	c.UpdatesTorn += s.UpdatesTorn
	c.UpdatesLost += s.UpdatesLost
}

func (h *head) report(code int) *report {
	r := &report{
		ExitCode: code, Error: h.ledger.text, Ranks: len(h.ledger.degrees), Degrees: h.ledger.degrees,
		Link:      h.config.Link,
		Limit:     h.config.Limit,
		Threads:   max(h.config.Threads, 1),
		Direct:    h.direct,
		Joined:    h.joined,
		Failures:  append([]failure{}, h.failures...),
		Kills:     []kill{},
		Weibull:   h.injected,
		Processes: []process{},
		TaskTypes: make(map[string]taskType),
	}
	if !h.joined.IsZero() {
		r.WallSeconds = h.finished.Sub(h.joined).Seconds()
	}
	r.stories = h.recovery.told()
	r.Checkpoint, r.Restart = h.files.reports()
	for _, k := range h.kills {
		r.Kills = append(r.Kills, kill{k.Process, k.When(), k.fired})
	}
	for _, m := range h.order {
		if m.pid == 0 || m.spare { // it could not be started, or had nothing to do
			continue
		}
		p := process{Process: m.process, Incarnation: m.birth, Host: m.hostName(), PID: m.pid, End: m.end}
		if m.exit != nil {
			p.Status = m.exit.Text
		}
		if m.hello != nil {
			r.IntraTag = m.hello.Tag
		}
		p.add(m.stats)
		r.add(m.stats)
		r.Processes = append(r.Processes, p)
		for name, t := range m.stats.TaskTypes {
			tt := r.TaskTypes[name]
			tt.add(t)
			r.TaskTypes[name] = tt
		}
	}
	return r
}

// taskType is all that the processes did with one type of task.
type taskType struct {
	job.TaskStats
	// Overlap is the share of the time in shared sections that was not spent
	// waiting: 1 if all transfers were hidden behind computation, 0 if there
	// were none of these sections.
	Overlap float64 `json:"overlap"`
}

// add sums up. A type counts as shared if a process shares it.
func (a *taskType) add(b job.TaskStats) {
	a.Run += b.Run
	a.Received += b.Received
	a.Seconds += b.Seconds
	a.WaitSeconds += b.WaitSeconds
	a.SectionSeconds += b.SectionSeconds
	a.UpdateBytes += b.UpdateBytes
	a.Stored += b.Stored
	if a.SectionSeconds > 0 {
		a.Overlap = 1 - min(a.WaitSeconds/a.SectionSeconds, 1)
	}
	if a.Decision != "share" {
		a.Decision = b.Decision
	}
}

// writeReport puts the report into the file name as a whole, or on one line of
// standard error.
func writeReport(name string, r *report, c *output.Console) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if name == "-" {
		c.Notef("%s", b)
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
