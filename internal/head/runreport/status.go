package runreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Status describes the activity of a job.
type Status struct {
	Elapsed   float64  `json:"elapsed_seconds"` // time since all processes had joined
	Degrees   []int    `json:"degrees"`
	Alive     int      `json:"alive"`
	Deaths    int      `json:"deaths"`
	Replaced  int      `json:"replaced"`
	Rollbacks int      `json:"rollbacks"`
	Leaving   []string `json:"leaving,omitempty"` // hosts and processes that are leaving on notice
	Joined    []string `json:"joined,omitempty"`  // hosts that have joined the running job
	Replicas  []int    `json:"replicas"`          // by rank: how many replicas have their state and live
	// Targets is how many replicas each rank is to have, in a job with ranges of replicas.
	Targets []int `json:"targets,omitempty"`
	// E is the estimated efficiency of the processes so far. Saved is the estimated share of
	// time that sharing has saved, relative to the time that they would have needed alone.
	E         float64         `json:"e"`
	Saved     float64         `json:"saved"`
	Progress  Progress        `json:"-"`
	Outlook   Outlook         `json:"outlook"`
	Page      string          `json:"page,omitempty"` // the address of the live page
	Join      string          `json:"join,omitempty"` // the command that makes another host join the job
	Processes []ProcessStatus `json:"processes"`
}

// ProcessStatus describes the activity of one process.
type ProcessStatus struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Host        string      `json:"host"`
	PID         int         `json:"pid"`
	Spare       bool        `json:"spare,omitempty"`
	State       string      `json:"state"`
	Doing       *job.Doing  `json:"doing,omitempty"`
	Sections    int64       `json:"sections"`
	Tasks       int64       `json:"tasks_run"`
	What        string      `json:"what"` // the activity in words, set by Describe
}

// Describe sets the field What of each process.
func (s *Status) Describe() {
	s.Processes = slices.Clone(s.Processes)
	for i := range s.Processes {
		p := &s.Processes[i]
		p.What = p.InWords()
	}
}

// longTime is the time without progress from which the status mentions it.
const longTime = time.Second

// String returns the status as text, a line for each process.
func (s *Status) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f s: %d of %d processes live, %d deaths", s.Elapsed, s.Alive, s.places(), s.Deaths)
	for _, more := range []struct {
		n    int
		what string
	}{{s.Replaced, "replaced"}, {s.Rollbacks, "rollbacks"}} {
		if more.n > 0 {
			fmt.Fprintf(&b, ", %d %s", more.n, more.what)
		}
	}
	if s.E > 0 {
		fmt.Fprintf(&b, ", E %.2f", s.E)
	}
	b.WriteByte('\n')
	if len(s.Leaving) > 0 {
		fmt.Fprintf(&b, "  leaving: %s\n", strings.Join(s.Leaving, ", "))
	}
	if len(s.Joined) > 0 {
		fmt.Fprintf(&b, "  joined: %s\n", strings.Join(s.Joined, ", "))
	}
	if text := s.short(); text != "" {
		fmt.Fprintf(&b, "  replicas: %s\n", text)
	}
	if o := &s.Outlook; o.Done > 0 || o.Total > 0 {
		fmt.Fprintf(&b, "  %s\n", o.Steps())
	}
	if s.Page != "" {
		fmt.Fprintf(&b, "  live page: %s\n", s.Page)
	}
	if s.Join != "" {
		fmt.Fprintf(&b, "  another host joins by: %s\n", s.Join)
	}
	name, host := 0, 0
	hosts := make(map[string]bool)
	for i := range s.Processes {
		p := &s.Processes[i]
		name, host, hosts[p.Host] = max(name, len(p.name())), max(host, len(p.Host)), true
	}
	for i := range s.Processes {
		p := &s.Processes[i]
		fmt.Fprintf(&b, "  %-*s  ", name, p.name())
		if len(hosts) > 1 {
			fmt.Fprintf(&b, "%-*s  ", host, p.Host)
		}
		b.WriteString(p.InWords())
		b.WriteByte('\n')
	}
	return b.String()
}

// short names the ranks of a job with ranges that have fewer replicas than they can have, or not as
// many as they are to have.
func (s *Status) short() string {
	const few = 8
	var all []string
	for rank, target := range s.Targets {
		if n, most := s.Replicas[rank], s.Degrees[rank]; n != target {
			all = append(all, fmt.Sprintf("rank %d has %d of %d, and is to have %d", rank, n, most, target))
		} else if n != most {
			all = append(all, fmt.Sprintf("rank %d has %d of %d", rank, n, most))
		}
	}
	if more := len(all) - few; more > 0 {
		all = append(all[:few], fmt.Sprintf("and so on for %d more ranks", more))
	}
	return strings.Join(all, "; ")
}

// places returns the number of processes that the job is meant to have.
func (s *Status) places() (n int) {
	for _, d := range s.Degrees {
		n += d
	}
	return n
}

func (p *ProcessStatus) name() string {
	if p.Spare {
		return "spare"
	}
	return p.Process.String()
}

// InWords describes the activity of the process in a few words.
func (p *ProcessStatus) InWords() string {
	d := p.Doing
	if d == nil {
		return p.State
	}
	var b strings.Builder
	switch d.State {
	case job.StateJoining:
		fmt.Fprintf(&b, "%s %d %%", d.State, int(100*d.Arrived))
		return b.String()
	case job.StateSection:
		fmt.Fprintf(&b, "in section %d of %s", d.Section, d.At)
		if d.Task != "" && d.Idle >= longTime {
			fmt.Fprintf(&b, ", runs task %s", d.Task)
		}
	case job.StateSafePoint:
		fmt.Fprintf(&b, "at safe point %d (%s)", d.Point, d.At)
	case job.StateOnce:
		b.WriteString("in Once")
	case job.StateAgain:
		fmt.Fprintf(&b, "runs again from safe point %d, is at %d of %d", d.From, d.Point, d.To)
	case job.StateRuns:
		if len(d.Waits) > 0 {
			waits := slices.Clone(d.Waits)
			if len(waits) == 1 { // For begins when the wait is noticed, and Idle earlier
				waits[0].For = max(waits[0].For, d.Idle)
			}
			return waiting(waits)
		}
		fmt.Fprintf(&b, "runs, %d sections and %d safe points behind it", p.Sections, d.Point)
	default:
		b.WriteString(string(d.State))
		return b.String()
	}
	if d.Idle >= longTime {
		switch {
		case len(d.Waits) > 1:
			fmt.Fprintf(&b, ", %s", waiting(d.Waits[1:]))
		case d.Blocked:
			fmt.Fprintf(&b, ", waits for others for %s", seconds(d.Idle))
		default:
			fmt.Fprintf(&b, ", for %s", seconds(d.Idle))
		}
	}
	return b.String()
}

// waiting lists the events for which the goroutines of a process wait.
func waiting(waits []job.Wait) string {
	var all []string
	for i := range waits {
		w := &waits[i]
		text := "waits in " + w.String()
		if w.At != "" {
			text += " (" + w.At + ")"
		}
		if w.For > 0 {
			text += " for " + seconds(w.For)
		}
		if w.Moving {
			text += ", data is moving"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
