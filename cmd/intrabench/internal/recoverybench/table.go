package recoverybench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Table writes the results as text.
func (m *Measurement) Table(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "a replica of HPCCG's only rank is killed and replaced; median [quartiles]; the link carries %.2f GB/s\n", m.Bandwidth.Median/1e9)
	fmt.Fprintf(w, "state\tjoined after\t\tshares after\t\tstate/link\tbeyond 1.3 of it\tsurvivor slower by\n")
	for _, r := range m.Returns {
		fmt.Fprintf(w, "%.1f MB\t%s s\t%s\t%s s\t%s\t%.4f s\t%+.3f s\t%.2f× %s\n", r.Bytes/1e6, median(r.Joined), quartiles(r.Joined),
			median(r.Sharing), quartiles(r.Sharing), r.Transfer, r.Joined.Median-1.3*r.Transfer, r.Slowdown.Median, quartiles(r.Slowdown))
	}
	fmt.Fprintf(w, "between the two the joiner generates the matrix again; the survivor is compared with one whose peer stays dead\n")
	fmt.Fprintf(w, "\ntwo ranks without failures\tseconds\t\ttimes as long\n")
	for _, c := range m.Costs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s %s\n", c.Way, median(c.Seconds), quartiles(c.Seconds), median(c.Ratio), quartiles(c.Ratio))
	}
	fmt.Fprintf(w, "\nfailures in a run\tE with -replace\t\tE without\t\tbegun anew, with and without\n")
	for _, l := range m.Losses {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d, %d", l.Failures, median(l.Replaced), quartiles(l.Replaced), median(l.Left), quartiles(l.Left), l.Again, l.Restarts)
		if l.Missed > 0 {
			fmt.Fprintf(w, "\t%d failures came too late", l.Missed)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "E = seconds of the run without failures / seconds to the end, with all that was begun anew\n")
	return w.Flush()
}

func median(s spread.Spread) string    { return fmt.Sprintf("%.3f", s.Median) }
func quartiles(s spread.Spread) string { return fmt.Sprintf("[%.3f %.3f]", s.Q1, s.Q3) }
