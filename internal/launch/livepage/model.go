package livepage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// Samples is the number of samples of the processes' states that are kept for the timeline.
const Samples = 60

// States of a process, a letter each.
const (
	absent   = '-' // the process has not begun
	runs     = 'r'
	section  = 's'
	waits    = 'w' // the process has waited for a second or longer
	safe     = 'p' // the process waits at a safe point
	joining  = 'j'
	back     = 'b' // the process rolls back
	again    = 'a' // the process runs again from a safe point, alone
	finished = 'f'
	stopped  = 't'
	lost     = 'o' // the process is out of touch
	dead     = 'x'
	ended    = 'e' // the job ended before the process had finished
)

// Frame is the content of the page at one moment.
type Frame struct {
	Time      float64           `json:"t"`
	Alive     int               `json:"alive"`
	Deaths    int               `json:"deaths"`
	Replaced  int               `json:"replaced"`
	Rollbacks int               `json:"rollbacks"`
	Spares    int               `json:"spares"` // spares that wait for a slot
	E         float64           `json:"e"`
	Saved     float64           `json:"saved"`
	Outlook   runreport.Outlook `json:"outlook"`
	States    string            `json:"states"` // a letter for each process, by rank and replica
	Rates     []int64           `json:"rates"`  // bytes of updates that each process sends in a second
	Kernels   []Kernel          `json:"kernels"`
}

// Kernel contains the sums of one type of task so far.
type Kernel struct {
	Name     string  `json:"name"`
	Decision string  `json:"decision"`
	Run      int64   `json:"run"`
	Seconds  float64 `json:"seconds"` // time in bodies
	Sections float64 `json:"section_seconds"`
	Wait     float64 `json:"wait_seconds"`
	Saved    float64 `json:"saved_seconds"`
	E        float64 `json:"e"` // 0: unknown
}

// Event is an event that the page lists.
type Event struct {
	Time float64 `json:"t"`
	Kind string  `json:"kind"` // death, return, rollback, deadlock, join, leave, degree
	Text string  `json:"text"`
}

// Sample holds the states of all processes at a time.
type Sample struct {
	Time   float64 `json:"t"`
	States string  `json:"states"`
}

// Model computes the content of a job's page. The zero Model has no data.
type Model struct {
	Frame   Frame
	History []Sample // up to Samples; the last one is that of Frame
	Events  []Event

	sent                         map[job.Endpoint]int64 // bytes sent, as of Frame
	failures, returns, rollbacks int                    // number of each among the events
	moves                        moves                  // arrivals, departures and changes of degrees among the events
}

// Take updates the model from the status of the job and its current report.
func (m *Model) Take(s *runreport.Status, r *runreport.Report) {
	passed := s.Elapsed - m.Frame.Time
	f := Frame{Time: s.Elapsed, Alive: s.Alive, Deaths: s.Deaths, Replaced: s.Replaced, Rollbacks: s.Rollbacks, E: s.E, Saved: s.Saved, Outlook: s.Outlook}
	f.States, f.Spares = m.states(s)
	f.States = letGo(f.States, s.Degrees, r)
	f.Rates = m.rates(s, r, passed)
	for _, name := range slices.SortedFunc(maps.Keys(r.TaskTypes), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.TaskTypes[b].Seconds, r.TaskTypes[a].Seconds), cmp.Compare(a, b))
	}) {
		k := r.TaskTypes[name]
		f.Kernels = append(f.Kernels, Kernel{Name: name, Decision: k.Decision, Run: k.Run, Seconds: k.Seconds, Sections: k.SectionSeconds,
			Wait: k.WaitSeconds, Saved: k.Saved, E: k.E})
	}
	m.Frame = f
	m.sample()
	m.addEvents(r)
}

// End records the end of the job and of each process.
func (m *Model) End(r *runreport.Report) {
	at := numbered(r.Slots())
	f := &m.Frame
	if f.States == "" { // the job ended before the first update
		f.States, f.Rates = strings.Repeat(string(absent), len(at)), make([]int64, len(at))
	}
	letters := []byte(f.States)
	for i := range r.Processes {
		k := at[r.Processes[i].Process]
		switch r.Processes[i].End {
		case "finished":
			letters[k] = finished
		case "failed", "exited", "killed", "fenced", "lost":
			letters[k] = dead
		case "ended", "left":
			if letters[k] != finished {
				letters[k] = ended
			}
		}
	}
	f.Time, f.States, f.Deaths = r.WallSeconds, letGo(string(letters), r.Slots(), r), len(r.Failures)
	f.Alive = len(letters) - strings.Count(f.States, string(dead)) - strings.Count(f.States, string(absent))
	m.sample()
	m.addEvents(r)
}

// numbered numbers the processes of a job, by rank and replica.
func numbered(degrees []int) map[job.Process]int {
	at := make(map[job.Process]int)
	for i, p := range job.Processes(degrees) {
		at[p] = i
	}
	return at
}

// sample adds the states of the frame to the timeline.
func (m *Model) sample() {
	if len(m.History) == Samples {
		m.History = slices.Delete(m.History, 0, 1)
	}
	m.History = append(m.History, Sample{m.Frame.Time, m.Frame.States})
}

// states returns a letter for each slot, and the number of spares that wait.
func (m *Model) states(s *runreport.Status) (string, int) {
	at := numbered(s.Degrees)
	letters := make([]byte, len(at))
	for i := range letters {
		letters[i] = absent
		if was := m.Frame.States; i < len(was) && was[i] != absent {
			letters[i] = dead
		}
	}
	spares := 0
	for i := range s.Processes {
		p := &s.Processes[i]
		if p.Spare {
			spares++
		} else if k, ok := at[p.Process]; ok {
			letters[k] = letter(p)
		}
	}
	return string(letters), spares
}

// waitsLong is the idle time from which a process counts as waiting, in nanoseconds.
const waitsLong = 1e9

func letter(p *runreport.ProcessStatus) byte {
	switch p.State {
	case "stopped":
		return stopped
	case "out of touch":
		return lost
	case string(job.StateJoining):
		return joining
	case string(job.StateFinished):
		return finished
	}
	d := p.Doing
	if d == nil {
		if p.State == string(job.StateRuns) {
			return runs
		}
		return absent
	}
	switch {
	case d.State == job.StateBack:
		return back
	case d.State == job.StateAgain:
		return again
	case d.State == job.StateSafePoint:
		return safe
	case d.Blocked, len(d.Waits) > 0 && d.Idle >= waitsLong:
		return waits
	case d.State == job.StateSection, d.State == job.StateOnce:
		return section
	}
	return runs
}

// rates returns the bytes of updates that each process has sent, per second since the last
// call.
func (m *Model) rates(s *runreport.Status, r *runreport.Report, passed float64) []int64 {
	sent := make(map[job.Endpoint]int64, len(r.Processes))
	rate := make(map[job.Process]int64, len(r.Processes))
	for i := range r.Processes {
		p := &r.Processes[i]
		at := job.Endpoint{Process: p.Process, Incarnation: p.Incarnation}
		sent[at] = p.UpdateBytes
		if before, ok := m.sent[at]; ok && passed > 0 && p.UpdateBytes > before {
			rate[p.Process] += int64(float64(p.UpdateBytes-before) / passed)
		}
	}
	m.sent = sent
	all := []int64{}
	for _, p := range job.Processes(s.Degrees) {
		all = append(all, rate[p])
	}
	return all
}

// addEvents adds the events that happened since the last call.
func (m *Model) addEvents(r *runreport.Report) {
	var more []Event
	for _, f := range r.Failures[min(m.failures, len(r.Failures)):] {
		detail, _, _ := strings.Cut(f.Detail, "\n")
		more = append(more, Event{f.At, "death", fmt.Sprintf("%v died (%s): %s", f.Process, f.Cause, detail)})
	}
	for _, n := range r.Replacements[min(m.returns, len(r.Replacements)):] {
		more = append(more, Event{n.Joined, "return", fmt.Sprintf("%v is back, on %s, %.3f s after its death", n.Process, n.Host, n.Seconds)})
	}
	for _, b := range r.Rollbacks[min(m.rollbacks, len(r.Rollbacks)):] {
		more = append(more, Event{b.At, "rollback", fmt.Sprintf("back to safe point %d, %s", b.SafePoint, b.Why())})
	}
	more = append(more, m.moves.events(r)...)
	m.failures, m.returns, m.rollbacks = len(r.Failures), len(r.Replacements), len(r.Rollbacks)
	slices.SortStableFunc(more, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	m.Events = append(m.Events, more...)
}
