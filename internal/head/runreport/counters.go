package runreport

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
)

// Counter is the way in which some processes count one event in their tasks. See
// docs/clones.md#counters.
type Counter struct {
	counters.Counter
	Processes []job.Process `json:"processes"` // the processes that count it in this way
}

// count adds the counters of a process.
func (r *Report) count(p job.Process, all []counters.Counter) {
	for _, c := range all {
		i := slices.IndexFunc(r.Counters, func(o Counter) bool { return o.Counter == c })
		if i < 0 {
			i = len(r.Counters)
			r.Counters = append(r.Counters, Counter{Counter: c})
		}
		if !slices.Contains(r.Counters[i].Processes, p) {
			r.Counters[i].Processes = append(r.Counters[i].Processes, p)
		}
	}
}

// printCounters prints two tables: the average counts of a task of each type, and the
// resources that each process has used.
func (r *Report) printCounters(w io.Writer) error {
	var names []string
	for _, t := range r.TaskTypes {
		for name := range t.Counters {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nin a task\tread (B)\twritten (B)\tGB/s\t%s\n", strings.Join(append(slices.Clone(names), ""), "\t"))
	for _, name := range r.kernels() {
		k := r.TaskTypes[name]
		if k.Run == 0 {
			continue
		}
		speed := 0.0
		if k.Seconds > 0 {
			speed = float64(k.ReadBytes+k.WrittenBytes) / k.Seconds / 1e9
		}
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%.3g\t", name, float64(k.ReadBytes)/float64(k.Run), float64(k.WrittenBytes)/float64(k.Run), speed)
		for _, c := range names {
			if n, ok := k.Counters[c]; ok {
				fmt.Fprintf(t, "%.4g\t", n.PerTask())
			} else {
				fmt.Fprint(t, "-\t")
			}
		}
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "\nprocess\tuser s\tsystem s\tfaults\tswitches\tpreempted\tMB\t\n")
	for _, p := range r.Processes {
		if u := p.Usage; u != nil {
			fmt.Fprintf(t, "%v\t%.2f\t%.2f\t%d\t%d\t%d\t%.0f\t\n", p.Process, u.User, u.System, u.MinorFaults+u.MajorFaults, u.Waited, u.Preempted, float64(u.ResidentBytes)/1e6)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range r.Counters {
		if _, err := fmt.Fprintf(w, "%v (%v)\n", c.Counter, words(c.Processes)); err != nil {
			return err
		}
	}
	return nil
}

// words formats a list of processes. It names at most eight of them.
func words(all []job.Process) string {
	const most = 8
	var b strings.Builder
	for i, p := range all {
		switch {
		case i == most:
			fmt.Fprintf(&b, " and %d more", len(all)-most)
			return b.String()
		case i > 0:
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, p)
	}
	return b.String()
}
