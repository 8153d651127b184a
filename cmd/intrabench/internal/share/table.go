package share

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes a measurement as text.
func (m *Measurement) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s: %d ranks, %d replicas, %d rounds in alternation\n\n", strings.Join(m.Program, " "), m.Ranks, m.Replicas, m.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tseconds\t\tE\t")
	for _, r := range m.Rows {
		fmt.Fprintf(t, "%s\t%.4f\t[%.4f, %.4f]\t%.3f\t[%.3f, %.3f]\n", r.Config.Name, r.Seconds.Median, r.Seconds.Q1, r.Seconds.Q3, r.E.Median, r.E.Q1, r.E.Q3)
	}
	if len(m.Kernels) > 0 {
		fmt.Fprintln(t, "\nkernel\t\tin tasks\twaiting\tof the time\tbytes of a task\tdecision")
	}
	last := ""
	for _, k := range m.Kernels {
		name := k.Name
		if name == last {
			name = ""
		}
		last = k.Name
		decision := k.Decision
		if k.Stored {
			decision += ", stored"
		}
		fmt.Fprintf(t, "%s\t%s\t%.4f\t%.4f\t%.1f%%\t%.0f\t%s\n", name, k.Config, k.Run, k.Wait, 100*(k.Run+k.Wait)/m.seconds(k.Config), k.Bytes, decision)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(m.Differ) > 0 {
		fmt.Fprintf(w, "\nThe program prints something else than native: %s. Unless it prints times, that is wrong: see intrarun -check.\n", strings.Join(m.Differ, ", "))
	}
	if m.Rounds < 3 {
		fmt.Fprintf(w, "\nWARNING: quartiles of %d rounds say nothing: take 3 or more\n", m.Rounds)
	}
	for _, r := range m.Rows {
		if m.Rounds >= 3 && r.E.Loose() {
			fmt.Fprintf(w, "\nWARNING: the machine was not quiet: quartiles of E are more than 15%% of the median apart for %s\n", r.Config.Name)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s", note)
	return err
}

const note = `E = T(native) / (replicas · T): median [quartiles] of the quotients of each round. Replication alone leaves
1/replicas of the machines, and 1 is sharing without loss. Seconds of kernels are those of one process, on average.
`

func (m *Measurement) seconds(config string) float64 {
	for _, r := range m.Rows {
		if r.Config.Name == config {
			return r.Seconds.Median
		}
	}
	return 0
}
