package counters

import "fmt"

// Sources of a counter.
const (
	FromPerf   = "perf_event_open"
	FromUsage  = "getrusage"
	FromClock  = "clock_gettime"
	NotCounted = ""
)

// Counter describes how a process counts one of the requested events.
type Counter struct {
	Name string `json:"name"`           // its name in perf
	From string `json:"from"`           // its source: perf_event_open, getrusage or clock_gettime; empty if it is not counted
	User bool   `json:"user,omitempty"` // whether only what happens outside the kernel is counted
	Why  string `json:"why,omitempty"`  // why it is not counted, or not by perf_event_open, or not on all threads
}

// String describes how it is counted.
func (c Counter) String() string {
	switch {
	case c.From == NotCounted:
		return fmt.Sprintf("%s is not counted: %s", c.Name, c.Why)
	case c.From != FromPerf:
		return fmt.Sprintf("%s is counted by %s: %s", c.Name, c.From, c.Why)
	}
	text := c.Name + " is counted"
	if c.User {
		text += " outside the kernel only"
	}
	if c.Why != "" {
		text += ", " + c.Why
	}
	return text
}

// Count is the result of counting while tasks ran.
type Count struct {
	// the count in all tasks in which it was counted; for task-clock in nanoseconds. It is estimated
	// where the hardware had to take turns
	Count float64 `json:"count"`
	Tasks int64   `json:"tasks"` // number of these tasks
}

// Add adds another count.
func (c *Count) Add(o Count) {
	c.Count += o.Count
	c.Tasks += o.Tasks
}

// PerTask returns the mean per task.
func (c Count) PerTask() float64 { return c.Count / float64(max(c.Tasks, 1)) }

// Usage is the resource usage of a process as getrusage reports it, which needs no
// privilege.
type Usage struct {
	User          float64 `json:"user_seconds"`         // time of all its threads outside the kernel
	System        float64 `json:"system_seconds"`       // time in the kernel
	MinorFaults   int64   `json:"minor_faults"`         // page faults without reading from a disk
	MajorFaults   int64   `json:"major_faults"`         // page faults with reading from a disk
	Waited        int64   `json:"voluntary_switches"`   // how often a thread has waited for something
	Preempted     int64   `json:"involuntary_switches"` // how often a thread has lost its core to another one
	ResidentBytes int64   `json:"resident_bytes"`       // the most memory that it had
}

// atOnce is the number of hardware counters that every processor has for one
// thread, besides cycles and instructions, for which most processors have
// separate counters. AMD processors have six for everything, one of which the
// kernel's watchdog may use.
const atOnce = 3

// Split returns the events that one of the replicas of a rank counts, in sets
// that its hardware can count at the same time. Each name is counted by one
// replica, in turn. The common ones are the scale for all others, so every set of
// hardware counters contains them.
func Split(names []string, replica, replicas int, hardware, common func(string) bool) (sets [][]string) {
	var always, soft, hard []string
	turn := 0
	for _, n := range names {
		if common(n) {
			always = append(always, n)
			continue
		}
		if turn++; (turn-1)%replicas != replica {
			continue
		}
		if hardware(n) {
			hard = append(hard, n)
		} else {
			soft = append(soft, n)
		}
	}
	for len(hard) > 0 || len(always) > 0 && len(sets) == 0 {
		n := min(len(hard), atOnce)
		sets = append(sets, append(always[:len(always):len(always)], hard[:n]...))
		hard = hard[n:]
	}
	if len(soft) > 0 {
		sets = append(sets, soft)
	}
	return sets
}
