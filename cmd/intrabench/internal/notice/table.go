package notice

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the results as text.
func (m *Measurement) Table(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if len(m.Moves) > 0 {
		fmt.Fprintf(w, "a process moves between two hosts, seconds\tmedian\tlongest\tgoal\tmoves\n")
	}
	for _, s := range m.Moves {
		fmt.Fprintf(w, "%.0f MB of state, of which a pass changes %.1f MB; link %.2f GB/s, a safe point each %.3f s\n", float64(s.Bytes)/1e6, float64(s.Changed)/1e6, s.Bandwidth/1e9, s.Interval)
		fmt.Fprintf(w, "  standstill\t%.3f\t%.3f\t%.3f\t%d\n", s.Stall.Median, s.Stall.Max, s.StallGoal, len(s.Stalls))
		fmt.Fprintf(w, "  notice needed\t%.3f\t%.3f\t%.3f\t%d\n", s.Notice.Median, s.Notice.Max, s.NoticeGoal, len(s.Notices))
	}
	if j := m.Join; j != nil {
		fmt.Fprintf(w, "\na host joins a job of one replica\tmedian\tquartiles\n")
		for _, row := range []struct {
			name string
			of   [3]float64
		}{
			{"passes per second, alone", [...]float64{j.Alone.Median, j.Alone.Q1, j.Alone.Q3}},
			{"from 2 s after the host has joined", [...]float64{j.Joined.Median, j.Joined.Q1, j.Joined.Q3}},
			{"two replicas from the start", [...]float64{j.Pair.Median, j.Pair.Q1, j.Pair.Q3}},
			{"ratio of these two (goal: 0.9)", [...]float64{j.Ratio.Median, j.Ratio.Q1, j.Ratio.Q3}},
			{"seconds until it stays above 0.9", [...]float64{j.Soon.Median, j.Soon.Q1, j.Soon.Q3}},
		} {
			fmt.Fprintf(w, "  %s\t%.2f\t%.2f to %.2f\n", row.name, row.of[0], row.of[1], row.of[2])
		}
	}
	return w.Flush()
}
