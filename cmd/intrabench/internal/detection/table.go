package detection

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Table writes the results as text.
func (m *Measurement) Table(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "a job of %d ranks with %d replicas on %d hosts\n", ranks, replicas, hosts)
	if len(m.Losses) > 0 {
		fmt.Fprintf(w, "\nuntil every survivor had handled it\tmedian\tlongest\ttimes\n")
	}
	for _, l := range m.Losses {
		fmt.Fprintf(w, "%s\t%.1f ms\t%.1f ms\t%d\n", l.Loss, l.Spread.Median*1e3, l.Spread.Max*1e3, len(l.Seconds))
	}
	if c := m.Cost; c != nil {
		fmt.Fprintf(w, "\nwithout a loss, %d passes, median [quartiles]\tbeats as they are\t%d times rarer\n", c.Passes, c.Rarer)
		for _, row := range []struct {
			name, format string
			of           func(Work) float64
		}{
			{"seconds", "%.3f", func(w Work) float64 { return w.Seconds }},
			{"CPU time of head and agents, in % of the job's", "%.2f", func(w Work) float64 { return 100 * w.share() }},
			{"the same, in ms per second and host", "%.1f", func(w Work) float64 { return w.WatchCPU * 1e3 / hosts }},
			{"datagrams per second", "%.0f", func(w Work) float64 { return w.Datagrams }},
			{"their kB per second", "%.1f", func(w Work) float64 { return w.Bytes / 1e3 }},
		} {
			fmt.Fprintf(w, "%s\t%s\t%s\n", row.name, sum(row.format, c.Usual, row.of), sum(row.format, c.Rare, row.of))
		}
		fmt.Fprintf(w, "times as long, pair by pair\t%s\n", text("%.4f", c.Ratio))
	}
	return w.Flush()
}

// sum formats the median and the quartiles of a value over all runs.
func sum(format string, all []Work, of func(Work) float64) string {
	var values []float64
	for _, w := range all {
		values = append(values, of(w))
	}
	return text(format, spread.Of(values))
}

func text(format string, s spread.Spread) string {
	return fmt.Sprintf(format+" ["+format+" "+format+"]", s.Median, s.Q1, s.Q3)
}
