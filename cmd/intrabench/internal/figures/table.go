package figures

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// paper is the efficiency of each kernel in the paper, with active replication and with
// intra-parallelization [INTRA, V-C and Figure 5]. The paper gives words and bounds, and no
// digits.
var paper = map[string]map[string]string{
	"waxpby":   {Replicated.Name: "0.50", Static.Name: "< 0.50", Send.Name: "< 0.50"},
	"ddot":     {Replicated.Name: "0.50", Static.Name: "~ 1.00", Send.Name: "~ 1.00"},
	"sparsemv": {Replicated.Name: "0.50", Static.Name: "~ 1.00", Send.Name: "~ 1.00"},
	Total:      {Replicated.Name: "~ 0.50", Static.Name: "> 0.80 (a)", Send.Name: "> 0.80 (a)"},
}

const paperNote = `E = T(native) / T on the same cores for the same global problem: median [quartiles] of the quotients
of each round. wait: share of the time spent waiting for updates. paper: Ropars, Lefray, Kim, Schiper,
"Efficient Process Replication for MPI Applications: Sharing Work Between Replicas", IPDPS 2015, V-C and
Figure 5, on 512 cores with InfiniBand 20G. (a) with waxpby left out of the sharing, by hand.
Native ranks wait for each other only in the sum over ranks, replicas also in ddot: hence both together.
Times of a kernel are the average over all processes, that of the whole is that of the last one.
`

// Table writes the figures as text.
func (m *Measurement) Table(w io.Writer) error {
	p := m.Problem
	passes := 0
	if len(m.Trials) > 0 {
		passes = m.Trials[0].Passes
	}
	fmt.Fprintf(w, "%s, %d x %d x %d points on each of two ranks, %d passes, %d rounds in alternation\n", p.name(), p.NX, p.NY, p.NZ, passes, m.Rounds)
	t := newColumns(w)
	for _, k := range append(p.rows(), Total) {
		title := "Figure 5a, " + k
		switch k {
		case Total:
			title = "Figure 5b, HPCCG as a whole"
		case Summed:
			title = k
		default:
			if p.Fused {
				title += " with inner products"
			}
		}
		fmt.Fprintf(t, "\n%s\tseconds\t\tE\t\twait\tdecision\tpaper\n", title)
		for _, c := range m.Configs {
			r, _ := m.Row(k, c.Name)
			fmt.Fprintf(t, "  %s\t%.4f\t%s\t%.3f\t%s\t%.1f%%\t%s\t%s\n", c.Name, r.Seconds.Median, brackets(r.Seconds, 4),
				r.E.Median, brackets(r.E, 3), 100*r.Wait, decisions(r.Decision), paper[k][c.Name])
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := m.bySections(w); err != nil {
		return err
	}
	if err := m.warn(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", paperNote)
	return err
}

// bySections writes two kinds of tables: the times of the sections relative to plain
// replication, and the results that depend on the bandwidth of the links.
func (m *Series) bySections(w io.Writer) error {
	if err := m.sectionTable(w); err != nil {
		return err
	}
	if err := m.keptTable(w); err != nil {
		return err
	}
	if err := m.modelTable(w); err != nil {
		return err
	}
	return m.linkTable(w)
}

// modelTable compares the measurement over limited links with the model.
func (m *Series) modelTable(w io.Writer) error {
	if len(m.Models) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nE over the bandwidth of the link, measured beside the model E = T/(T + V/B) without overlap;\nsharing is worth as much as none at B = V/T\n")
	t := newColumns(w)
	fmt.Fprintf(t, "\tV/T, GB/s\tB, GB/s\tE\t\tmodel\treplicated\tdecision\n")
	for _, model := range m.Models {
		plain, _ := m.Row(model.Kernel, Replicated.Name)
		for _, c := range m.Configs {
			limit, e := "unlimited", ""
			switch {
			case c.shares():
				limit, e = fmt.Sprintf("%.3g", c.Limit/1e9), fmt.Sprintf("%.3f", model.E(c.Limit))
			case c.Name != Send.Name:
				continue
			}
			r, _ := m.Row(model.Kernel, c.Name)
			fmt.Fprintf(t, "  %s\t%.3g\t%s\t%.3f\t%s\t%s\t%.3f\t%s\n", model.Kernel, model.Flip()/1e9, limit,
				r.E.Median, brackets(r.E, 3), e, plain.E.Median, decisions(r.Decision))
		}
	}
	return t.Flush()
}

// PeerTable writes the times of the whole solver, beside those of a peer.
func (m *Measurement) PeerTable(w io.Writer) error {
	p := m.Problem
	fmt.Fprintf(w, "%s, %d x %d x %d points on each of two ranks, %d rounds in alternation\n", p.name(), p.NX, p.NY, p.NZ, m.Rounds)
	t := newColumns(w)
	_, withPeer := m.Row(Total, PeerConfig.Name)
	fmt.Fprintf(t, "\tseconds\t\tE")
	if withPeer {
		fmt.Fprintf(t, "\t\tpeer / it")
	}
	fmt.Fprintln(t)
	peer := m.series(Total, PeerConfig.Name)
	for _, c := range m.Configs {
		r, _ := m.Row(Total, c.Name)
		fmt.Fprintf(t, "  %s\t%.4f\t%s\t%.3f\t%s", c.Name, r.Seconds.Median, brackets(r.Seconds, 4), r.E.Median, brackets(r.E, 3))
		if withPeer {
			var ratio []float64
			for i, s := range m.series(Total, c.Name) {
				ratio = append(ratio, peer[i].Seconds/s.Seconds)
			}
			s := spread.Of(ratio)
			fmt.Fprintf(t, "\t%.3f\t%s", s.Median, brackets(s, 3))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// columns aligns text at tabs, without blanks at the ends of lines.
type columns struct {
	*tabwriter.Writer
	text bytes.Buffer
	to   io.Writer
}

func newColumns(to io.Writer) *columns {
	c := &columns{to: to}
	c.Writer = tabwriter.NewWriter(&c.text, 0, 0, 2, ' ', 0)
	return c
}

// Flush writes all lines.
func (c *columns) Flush() error {
	if err := c.Writer.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(c.text.String()) {
		if _, err := fmt.Fprintln(c.to, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func brackets(s spread.Spread, digits int) string {
	return fmt.Sprintf("[%.*f %.*f]", digits, s.Q1, digits, s.Q3)
}

// decisions lists the final decisions. If there were several, it adds the number of each.
func decisions(d map[string]int) string {
	names := slices.Sorted(maps.Keys(d))
	if len(names) == 1 {
		return names[0]
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, d[n])
	}
	return strings.Join(names, ", ")
}
