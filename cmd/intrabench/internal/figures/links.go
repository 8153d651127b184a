package figures

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// TaskSample holds the measurements of one type of task in one run, on one process.
type TaskSample struct {
	Seconds        float64 `json:"seconds"`         // seconds in bodies
	SectionSeconds float64 `json:"section_seconds"` // seconds in sections that begin with such a task
	WaitSeconds    float64 `json:"wait_seconds"`    // seconds spent waiting for updates
	UpdateBytes    float64 `json:"update_bytes"`    // bytes of updates sent or stored
	Decision       string  `json:"decision,omitempty"`
	DecidedAfter   float64 `json:"decided_after,omitempty"` // see After of Link
}

// taskSamples returns the samples of a report, by the names of the tasks without their
// packages.
func taskSamples(rep trial.Report) map[string]TaskSample {
	var all map[string]TaskSample
	n := float64(len(rep.Processes))
	for name, tt := range rep.TaskTypes {
		if tt.Run == 0 {
			continue
		}
		t := TaskSample{
			Seconds: tt.Seconds / n, SectionSeconds: tt.SectionSeconds / n, WaitSeconds: tt.WaitSeconds / n,
			UpdateBytes: tt.UpdateBytes / n, Decision: tt.Decision, DecidedAfter: tt.DecidedAfter,
		}
		if t.Decision == "share" && tt.Stored > 0 {
			t.Decision = "direct"
		}
		if all == nil {
			all = make(map[string]TaskSample)
		}
		all[taskName(name)] = t
	}
	return all
}

// taskName returns the name of a task without its package.
func taskName(name string) string {
	_, task, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	return task
}

// Forced returns a configuration that always shares. It uses the same links as c, a
// configuration of Limited or Throttled whose replicas decide.
func Forced(c Config) Config {
	c.Name = strings.Replace(c.Name, Send.Name, Static.Name, 1)
	c.Flags = slices.Concat(Static.Flags, c.Flags)
	return c
}

// Link compares the decision of the replicas about one type of task on one kind of link with
// the decision that the model predicts. T is the time of all bodies on one process, V the size
// of all updates of a rank, and B the bandwidth in each direction. A replica of two that share
// computes for T/2 and sends V/2: the transfer is hidden if T/2 > V/2B.
type Link struct {
	Task     string         `json:"task"`
	Config   string         `json:"config"`
	Half     float64        `json:"half_seconds"`               // T/2
	Transfer float64        `json:"transfer_seconds,omitempty"` // V/2B; 0: the link has no limit
	Wait     float64        `json:"wait_share"`                 // share of the time in sections spent waiting; median
	Decision map[string]int `json:"decisions"`
	// After is the number of sections of a kind after which sharing last began or ended: the
	// median, or 0 if it never changed.
	After float64 `json:"decided_after"`
	// Seconds are the times in the sections: as decided, always shared, and never shared.
	Seconds    spread.Spread `json:"seconds"`
	Shared     spread.Spread `json:"shared_seconds"`
	Replicated spread.Spread `json:"replicated_seconds"`
	// Loss is the time as decided minus the shorter of the other two times, divided by that time.
	Loss spread.Spread `json:"loss"`
}

// Hidden reports whether the computation hides the transfers.
func (l Link) Hidden() bool { return l.Half > l.Transfer }

// linkNames returns pairs of configurations: one that decides, and one that always shares
// over the same links.
func (m *Series) linkNames() (pairs [][2]string) {
	for _, c := range m.Configs {
		forced := strings.Replace(c.Name, Send.Name, Static.Name, 1)
		if c.decides() && forced != c.Name && m.has(forced) {
			pairs = append(pairs, [2]string{c.Name, forced})
		}
	}
	return pairs
}

func (m *Series) has(config string) bool {
	return slices.ContainsFunc(m.Configs, func(c Config) bool { return c.Name == config })
}

// tasks returns the samples of a type of task in a configuration, round by round.
func (m *Series) tasks(task, config string) []TaskSample {
	s := make([]TaskSample, m.Rounds)
	for _, t := range m.Trials {
		if t.Config == config {
			s[t.Round] = t.Tasks[task]
		}
	}
	return s
}

// links compares the decisions on limited links. If the series lacks a configuration that the
// comparison needs, it returns nil. It omits types of tasks that take almost no time, or send
// nothing.
func (m *Series) links() (all []Link) {
	pairs := m.linkNames()
	if !slices.ContainsFunc(m.Configs, Config.shares) || len(pairs) == 0 || !m.has(Replicated.Name) {
		return nil
	}
	tasks, some := m.sectionTasks()
	for i, task := range tasks {
		if i >= some && len(all) > 0 {
			break
		}
		for _, p := range pairs {
			if l, ok := m.link(task, p[0], p[1]); ok {
				all = append(all, l)
			}
		}
	}
	return all
}

// link compares a configuration that decides with one that always shares.
func (m *Series) link(task, config, forced string) (Link, bool) {
	l := Link{Task: task, Config: config, Decision: make(map[string]int)}
	own, shared, plain := m.tasks(task, config), m.tasks(task, forced), m.tasks(task, Replicated.Name)
	var bodies, sent, wait, after, a, b, c, loss []float64
	for i, s := range own {
		better := min(shared[i].SectionSeconds, plain[i].SectionSeconds)
		if s.SectionSeconds <= 0 || better <= 0 || shared[i].UpdateBytes == 0 {
			return Link{}, false // no section begins with this task, or the program does not share it
		}
		bodies, sent = append(bodies, plain[i].Seconds), append(sent, shared[i].UpdateBytes)
		// Some tasks wait in sections that begin with tasks of another type, so both times may
		// be the larger one.
		wait = append(wait, s.WaitSeconds/max(s.SectionSeconds, s.Seconds+s.WaitSeconds))
		a, b, c = append(a, s.SectionSeconds), append(b, shared[i].SectionSeconds), append(c, plain[i].SectionSeconds)
		loss = append(loss, s.SectionSeconds/better-1)
		after = append(after, s.DecidedAfter)
		l.Decision[s.Decision]++
	}
	l.Half, l.Wait, l.After = spread.Of(bodies).Median/2, spread.Of(wait).Median, spread.Of(after).Median
	if limit := m.config(config).Limit; limit > 0 {
		l.Transfer = spread.Of(sent).Median / limit
	}
	l.Seconds, l.Shared, l.Replicated, l.Loss = spread.Of(a), spread.Of(b), spread.Of(c), spread.Of(loss)
	return l, true
}

const linksNote = `T/2: half of what the bodies take on a process that replicates. V/2B: what a replica sends of the updates,
by the bandwidth in each direction; it fits behind the computation if T/2 > V/2B (+). wait: share of the time
in sections spent waiting for updates. s: in the sections, as decided, shared in any case, and never.
loss: what was decided beside the better of the two, less 1, over all sections with those in which it was tried.
after: the sections of a kind after which sharing has begun or ended last, trials aside; 0: it never changed.
`

// linkTable writes the decision for each type of task on each link.
func (m *Series) linkTable(w io.Writer) error {
	if len(m.Links) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nDecisions over the bandwidth of the link, by type of task\n")
	t := newColumns(w)
	fmt.Fprintf(t, "\tlink\tT/2, s\tV/2B, s\t\twait\ts\tshared\treplicated\tloss\t\tdecision\tafter\n")
	for _, l := range m.Links {
		transfer, fits := "", ""
		if l.Transfer > 0 {
			transfer = fmt.Sprintf("%.4f", l.Transfer)
			if l.Hidden() {
				fits = "+"
			}
		}
		fmt.Fprintf(t, "  %s\t%s\t%.4f\t%s\t%s\t%.1f%%\t%.4f\t%.4f\t%.4f\t%+.1f%%\t[%+.1f%% %+.1f%%]\t%s\t%.0f\n", l.Task, l.Config, l.Half, transfer, fits, 100*l.Wait,
			l.Seconds.Median, l.Shared.Median, l.Replicated.Median, 100*l.Loss.Median, 100*l.Loss.Q1, 100*l.Loss.Q3, decisions(l.Decision), l.After)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, linksNote)
	return err
}
