package messages

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/internal/job"
)

// Table writes the results as text. It writes a table for each link, with a line for each case
// and the jobs side by side, and a table for the outside program.
func Table(w io.Writer, o Options, results []Result) error {
	crowded := false
	for link := range slices.Chunk(results, o.jobs()*len(o.Cases)) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		jobs := slices.Collect(slices.Chunk(link, len(o.Cases)))
		fmt.Fprintf(t, "%s\t", link[0].Link)
		switch {
		case !link[0].pingpong():
			fmt.Fprint(t, "float64s\t")
		case o.named():
			fmt.Fprint(t, "bytes\t")
		}
		for _, j := range jobs {
			mark := ""
			if len(job.Processes(j[0].Degrees)) > runtime.NumCPU() {
				mark, crowded = "*", true
			}
			fmt.Fprintf(t, "%s%s µs\t\t", strings.TrimSpace(string(j[0].Order)+" "+Degrees(j[0].Degrees)), mark)
			if j[0].pingpong() {
				fmt.Fprint(t, "MB/s\t")
			}
			if j[0].Ratio != nil {
				fmt.Fprint(t, "ratio\t\t")
			}
			if j[0].ToAsserted != nil {
				fmt.Fprint(t, "/ asserted\t\t")
			}
			if j[0].ToPeer != nil {
				fmt.Fprint(t, "/ peer\t\t")
			}
		}
		fmt.Fprintln(t)
		for i, c := range o.Cases {
			if o.named() {
				fmt.Fprintf(t, "%s\t", c.Op)
			}
			fmt.Fprintf(t, "%d\t", c.N)
			for _, j := range jobs {
				j[i].cells(t)
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if crowded {
		_, err := fmt.Fprintf(w, "* more processes than the %d cores: they take turns, which is most of their time\n", runtime.NumCPU())
		return err
	}
	return nil
}

// named reports whether the table needs the names of the operations.
func (o Options) named() bool { return o.Cases[0].Op != Pingpong }

// pingpong reports whether the operation is one of those for which the table shows a bandwidth.
func (r Result) pingpong() bool {
	return slices.Contains([]string{Pingpong, AnySource, AnySourceRun}, r.Op)
}

func (r Result) cells(t io.Writer) {
	fmt.Fprintf(t, "%s\t%s\t", digits(r.Median*1e6), quartiles(r.Spread, 1e6))
	if r.pingpong() {
		fmt.Fprintf(t, "%s\t", digits(float64(r.N)/r.Median/1e6))
	}
	if r.Ratio != nil {
		fmt.Fprintf(t, "%.2f\t%s\t", r.Ratio.Median, quartiles(*r.Ratio, 1))
	}
	if r.ToAsserted != nil {
		fmt.Fprintf(t, "%.2f\t%s\t", r.ToAsserted.Median, quartiles(*r.ToAsserted, 1))
	}
	if r.ToPeer != nil {
		fmt.Fprintf(t, "%.2f\t%s\t", r.ToPeer.Median, quartiles(*r.ToPeer, 1))
	}
}

// WorkTable writes the costs of the protocol as text.
func WorkTable(w io.Writer, results []Work) error {
	fmt.Fprintln(w, "what the protocol does for a message of 1 byte in each process, without link and waiting:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "replicas\tns\t\tratio\t\tallocations\t")
	for _, r := range results {
		ratio, around := "1.00", ""
		if r.Ratio != nil {
			ratio, around = fmt.Sprintf("%.2f", r.Ratio.Median), quartiles(*r.Ratio, 1)
		}
		fmt.Fprintf(t, "%s\t%.0f\t%s\t%s\t%s\t%.2f\t\n", r.name(), r.Median*1e9, quartiles(r.Spread, 1e9), ratio, around, r.Allocations)
	}
	return t.Flush()
}

// name returns the degrees of the ranks, and the protocol if it is not the default one.
func (w Work) name() string {
	if w.Mirror {
		return Degrees(w.Degrees) + " mirror"
	}
	return Degrees(w.Degrees)
}

// Degrees formats degrees like 2,1.
func Degrees(d []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(d), "[]"), " ", ",")
}

// quartiles formats the quartiles of a spread.
func quartiles(s spread.Spread, scale float64) string {
	return fmt.Sprintf("[%s %s]", digits(s.Q1*scale), digits(s.Q3*scale))
}

// digits formats a number of any size with a few significant digits.
func digits(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
