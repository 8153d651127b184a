package runreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
)

// Read reads a report that Write has written.
func Read(name string) (*Report, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	r := new(Report)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s is no report of intrarun: %w", name, err)
	}
	switch {
	case len(r.Degrees) == 0:
		return nil, fmt.Errorf("%s is no report of intrarun: it has no degrees", name)
	case r.Version == Version && r.Ranks != len(r.Degrees):
		return nil, fmt.Errorf("%s is no report of intrarun: it has %d ranks and degrees %v", name, r.Ranks, r.Degrees)
	case r.Version != Version:
		return nil, fmt.Errorf("%s has version %d, this intrarun reads version %d: use the intrarun that wrote it", name, r.Version, Version)
	}
	return r, nil
}

// Print prints the report in words.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	how := "every rank finished"
	if r.Error != "" {
		how = r.Error
	}
	fmt.Fprintf(t, "exit code\t%d: %s\n", r.ExitCode, how)
	fmt.Fprintf(t, "job\t%d ranks, degrees %v, link %s, %d workers each\n", r.Ranks, r.Degrees, r.Link, r.Threads)
	if !r.IntraTag {
		fmt.Fprintf(t, "\tbuilt without the tag intra: nothing is shared\n")
	}
	fmt.Fprintf(t, "time\t%.3f s\n", r.WallSeconds)
	fmt.Fprintf(t, "work\t%d sections, %d tasks run, %d received, %d in place of dead replicas\n", r.Sections, r.TasksRun, r.TasksReceived, r.TasksRerun)
	fmt.Fprintf(t, "updates\t%.1f MB\n", float64(r.UpdateBytes)/1e6)
	for _, f := range r.Failures {
		fmt.Fprintf(t, "%.3f s\t%v died (%s): %s\n", f.At, f.Process, f.Cause, f.Detail)
	}
	for _, n := range r.Replacements {
		fmt.Fprintf(t, "%.3f s\t%v was replaced on %s, %.3f s after its death\n", n.Joined, n.Process, n.Host, n.Seconds)
	}
	for _, b := range r.Rollbacks {
		fmt.Fprintf(t, "%.3f s\tback to safe point %d, %s\n", b.At, b.SafePoint, b.Why())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, name := range r.kernels() {
		k := r.TaskTypes[name]
		if _, err := fmt.Fprintf(w, "%s: %s\n", name, k.Paid()); err != nil {
			return err
		}
	}
	if len(r.Counters) > 0 {
		if err := r.printCounters(w); err != nil {
			return err
		}
	}
	return nil
}

// kernels lists the types of tasks, those with the longest sections first.
func (r *Report) kernels() []string {
	return slices.SortedFunc(maps.Keys(r.TaskTypes), func(a, b string) int {
		x, y := r.TaskTypes[a], r.TaskTypes[b]
		return cmp.Or(cmp.Compare(y.SectionSeconds, x.SectionSeconds), cmp.Compare(a, b))
	})
}

// Paid describes how much time each process has saved by sharing the sections of these tasks,
// or why that is unknown.
func (t TaskType) Paid() string {
	switch {
	case t.Sharers == 0:
		return fmt.Sprintf("run %d times in %.3f s; no section that begins with it was shared", t.Run, t.Seconds)
	case t.Unshared == 0:
		return "it is not known what sharing has saved: no task ran"
	case unshared(t.TaskStats):
		return fmt.Sprintf("not shared: each replica ran all tasks, in %s (E %.2f)", brief(t.Unshared), t.E)
	}
	text := fmt.Sprintf("sharing saved %s of %s (E %.2f)", brief(t.Saved), brief(t.Unshared), t.E)
	if t.Saved < 0 {
		text = fmt.Sprintf("sharing cost %s beside %s (E %.2f)", brief(-t.Saved), brief(t.Unshared), t.E)
	}
	if t.Decision == "replicate" {
		text += "; it does not pay, so each replica runs all tasks"
	}
	return text
}

// brief formats a time with a few significant digits.
func brief(seconds float64) string {
	if seconds < 1 {
		return fmt.Sprintf("%.3f s", seconds)
	}
	return fmt.Sprintf("%.1f s", seconds)
}

// Compare prints the values of two reports side by side, with the quotient of the second and
// the first.
func Compare(w io.Writer, nameA, nameB string, a, b *Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, format string, x, y float64) {
		quotient := "-"
		if x != 0 {
			quotient = fmt.Sprintf("%.3f", y/x)
		}
		fmt.Fprintf(t, "%s\t"+format+"\t"+format+"\t%s\n", what, x, y, quotient)
	}
	fmt.Fprintf(t, "\t%s\t%s\tsecond/first\n", nameA, nameB)
	fmt.Fprintf(t, "exit code\t%d\t%d\n", a.ExitCode, b.ExitCode)
	fmt.Fprintf(t, "degrees\t%v\t%v\n", a.Degrees, b.Degrees)
	fmt.Fprintf(t, "link, workers\t%s, %d\t%s, %d\n", a.Link, a.Threads, b.Link, b.Threads)
	row("time (s)", "%.3f", a.WallSeconds, b.WallSeconds)
	row("sections", "%.0f", float64(a.Sections), float64(b.Sections))
	row("tasks run", "%.0f", float64(a.TasksRun), float64(b.TasksRun))
	row("tasks received", "%.0f", float64(a.TasksReceived), float64(b.TasksReceived))
	row("updates (MB)", "%.1f", float64(a.UpdateBytes)/1e6, float64(b.UpdateBytes)/1e6)
	row("deaths", "%.0f", float64(len(a.Failures)), float64(len(b.Failures)))
	for _, name := range a.kernels() {
		x, both := a.TaskTypes[name], b.TaskTypes[name]
		if _, ok := b.TaskTypes[name]; !ok {
			fmt.Fprintf(t, "%s\t%.3f\tnot run\n", name, x.perSharer())
			continue
		}
		row(name+" (s)", "%.3f", x.perSharer(), both.perSharer())
		row("  E", "%.2f", x.E, both.E)
	}
	for _, name := range b.kernels() {
		if _, ok := a.TaskTypes[name]; !ok {
			fmt.Fprintf(t, "%s\tnot run\t%.3f\n", name, b.TaskTypes[name].perSharer())
		}
	}
	return t.Flush()
}

// perSharer returns the time that a process spent in the sections of these tasks. If none were
// shared, it returns the time of all bodies together.
func (t TaskType) perSharer() float64 {
	if t.Sharers == 0 {
		return t.Seconds
	}
	return t.Unshared - t.Saved
}
