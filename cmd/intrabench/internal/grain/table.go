package grain

import (
	"fmt"
	"io"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Table prints the time of a section for each size and way, with the share of the cores' time
// that was work. It also prints the METG(50 %) of each way.
func Table(w io.Writer, o Options, results []Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "sections of %d tasks with %d bytes of results each; %d rounds, in turn\n", o.Tasks, o.Bytes, o.Rounds)
	fmt.Fprintf(&b, "microseconds of a section, median, and the share of its cores' time that is work, median [quartiles]\n")
	for i := range o.Work {
		work, _ := results[0].Size(i)
		fmt.Fprintf(&b, "%s of work\n", micro(work.Median))
		for _, r := range results[1:] {
			section, e := r.Size(i)
			fmt.Fprintf(&b, "  %-20s %10s  %.2f [%.2f %.2f]%s\n", r.Way, micro(section.Median), e.Median, e.Q1, e.Q3, peerWork(&r, results[0], i))
		}
	}
	fmt.Fprintf(&b, "METG(50 %%), microseconds of work of each core, median [quartiles]\n")
	for _, r := range results[1:] {
		m := r.METG()
		fmt.Fprintf(&b, "  %-20s %10s [%s %s]\n", r.Way, grainOf(m.Median), grainOf(m.Q1), grainOf(m.Q3))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary is the measurement of one way, for a record. Times are in seconds.
type Summary struct {
	Way   string        `json:"way"`
	Cores int           `json:"cores"`
	METG  spread.Spread `json:"metg"` // see Result.METG
	Sizes []Size        `json:"sizes"`
}

// Size summarises the sections of one size.
type Size struct {
	Work       float64       `json:"work"` // median time of the plain loop
	Section    spread.Spread `json:"section"`
	Efficiency spread.Spread `json:"efficiency"` // share of the cores' time that was work
}

// Summaries returns a Summary for each way.
func Summaries(o Options, results []Result) []Summary {
	var all []Summary
	for _, r := range results {
		s := Summary{Way: r.Way, Cores: r.Cores, METG: r.METG()}
		for i := range o.Work {
			work, _ := results[0].Size(i)
			section, e := r.Size(i)
			s.Sizes = append(s.Sizes, Size{work.Median, section, e})
		}
		all = append(all, s)
	}
	return all
}

// peerWork returns a text with the time of one task's work, for a way with a plain loop of its
// own. It returns "" if that time equals the one of the plain loop of this module.
func peerWork(r *Result, plain Result, i int) string {
	var ours, own []float64
	for round := range r.Work {
		ours, own = append(ours, plain.Work[round][i]), append(own, r.Work[round][i])
	}
	if spread.Of(ours) == spread.Of(own) {
		return ""
	}
	return fmt.Sprintf("  of %s", micro(spread.Of(own).Median))
}

func micro(seconds float64) string { return fmt.Sprintf("%.2f", 1e6*seconds) }

// Grain returns the median METG(50 %) in words.
func (r *Result) Grain() string {
	text := grainOf(r.METG().Median)
	if strings.HasSuffix(text, "all") {
		return text
	}
	return text + " µs"
}

func grainOf(seconds float64) string {
	switch {
	case seconds == 0:
		return "below all"
	case seconds > above/10: // a quartile may lie between two
		return "above all"
	}
	return micro(seconds)
}
