package filebench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Table prints the bandwidth of each way in each folder, and relative to other ways.
func Table(to io.Writer, o Options, all Results) error {
	fmt.Fprintf(to, "%d ranks write a file of %d MB, calls of %d bytes; %d rounds in turn: median [quartiles]\n",
		Ranks, o.Bytes/1e6, o.Bytes/Ranks/int64(o.Calls), o.Rounds)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		title string
		of    func(*Result) Measured
	}{
		{"the calls that write, without fsync", func(r *Result) Measured { return r.Write }},
		{"the whole file: create, write, fsync, rename", func(r *Result) Measured { return r.Whole }},
	} {
		fmt.Fprintf(w, "%s\n  folder\tway\tMB/s\t/ os.File\t/ -r 1\n", part.title)
		for _, r := range all.Files {
			m := part.of(r)
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", r.Dir, r.Way, text(m.MBs, "%.0f"), text(m.Plain, "%.2f"), text(m.Single, "%.2f"))
		}
	}
	return w.Flush()
}

func text(s spread.Spread, format string) string {
	return fmt.Sprintf(format+" ["+format+" "+format+"]", s.Median, s.Q1, s.Q3)
}
