package scale

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the rows as text.
func Table(to io.Writer, o Options, rows []Row) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(to, "one job of each size with %d replicas a rank; 8 bytes, means of %d; rest of %v\n", o.Degree, o.Messages, o.Rest)
	fmt.Fprintln(w, "processes\tstart s\tend s\thalf trip us\tallreduce us\tlinks\tmost\tMB each\tMB intrarun\twake-ups/s each\tcores at rest\twake-ups/s intrarun\tits cores\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t%d\t%.1f\t%.1f\t%.1f\t%.3f\t%.0f\t%.3f\t\n", r.Processes, r.Start, r.End, 1e6*r.HalfTrip, 1e6*r.Allreduce,
			r.Links, r.MostLinks, r.Memory/1e6, r.LauncherMemory/1e6, r.Wakeups, r.CPU, r.LauncherWakeups, r.LauncherCPU)
	}
	return w.Flush()
}
