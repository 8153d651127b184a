package counters

import "fmt"

// These are the sources of counters.
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
	User bool   `json:"user,omitempty"` // whether only events outside the kernel are counted
	Why  string `json:"why,omitempty"`  // why it is not counted, or not by perf_event_open, or not on all threads
}

// String describes how the event is counted.
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

// Count is the sum of a counter over tasks.
type Count struct {
	// Count is the sum over the tasks in which the event was counted, for task-clock in
	// nanoseconds. It is an estimate if counters had to share the hardware.
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

// Usage is the resource usage of a process, as reported by getrusage. Reading it needs no
// privilege.
type Usage struct {
	User          float64 `json:"user_seconds"`         // time outside the kernel, of all its threads
	System        float64 `json:"system_seconds"`       // time in the kernel, of all its threads
	MinorFaults   int64   `json:"minor_faults"`         // page faults without reading from a disk
	MajorFaults   int64   `json:"major_faults"`         // page faults with reading from a disk
	Waited        int64   `json:"voluntary_switches"`   // how often a thread has waited
	Preempted     int64   `json:"involuntary_switches"` // how often a thread had to give its core to another one
	ResidentBytes int64   `json:"resident_bytes"`       // peak of the memory that it had in RAM
}

// atOnce is the number of hardware counters that a thread can use at a time on every
// processor, besides cycles and instructions. Most processors have separate counters for
// these two. AMD processors have six in all, one of which the kernel's watchdog may use.
const atOnce = 3

// Split returns the events that one of the replicas of a rank counts, in sets that its
// hardware can count at the same time. The replicas take turns in counting the names. All
// other counts are relative to the common events, so every set of hardware counters
// contains these.
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
