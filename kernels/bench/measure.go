package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Plain is the name of the path of the plain Go loops.
const Plain = "plain"

// Variant is a kernel on one path with one set of operands.
type Variant struct {
	Kernel string `json:"kernel"`
	Elem   string `json:"elem"` // element type
	Path   string `json:"path"`
	Size   string `json:"size"`
	N      int    `json:"n"`                // number of elements or rows
	Bytes  int64  `json:"bytes"`            // bytes that a call has to read and write
	Format string `json:"format,omitempty"` // format of the matrix, and the memory that it occupies

	// Minimum time of a call in seconds, according to the bandwidth of the memory.
	limit func(ref reference) float64
	run   func()
}

// Result is the result of a measurement. A ratio is 0 if it has no reference.
type Result struct {
	Variant
	Seconds []float64 `json:"seconds"` // per call, one per round
	Median  float64   `json:"median"`
	Q1      float64   `json:"q1"`
	Q3      float64   `json:"q3"`
	GBps    float64   `json:"gb_per_second"`
	// Speedup is the speed relative to the plain Go loop.
	Speedup float64 `json:"speedup"`
	// OfLimit is the speed relative to that of reading and copying at this size in this
	// run.
	OfLimit float64 `json:"of_limit"`
}

// reference is the bandwidth of the memory: seconds per byte.
type reference struct{ read, copy float64 }

// measure runs the variants in turn, in o.Rounds rounds. Each turn is long enough for the
// resolution of the clock.
func measure(ctx context.Context, variants []Variant, o Options, what string) ([]Result, error) {
	const turn = 300 * time.Microsecond
	calls := make([]int, len(variants))
	results := make([]Result, len(variants))
	for i, v := range variants {
		v.run() // warms up caches, pages and the clock frequency
		calls[i] = 1
		for {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if t := timed(v.run, calls[i]); t >= turn {
				break
			}
			calls[i] *= 2
		}
		results[i].Variant = v
	}
	for round := range o.Rounds {
		if o.Before != nil {
			o.Before(what, round)
		}
		for i, v := range variants {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t := timed(v.run, calls[i]).Seconds() / float64(calls[i])
			results[i].Seconds = append(results[i].Seconds, t)
		}
	}
	for i := range results {
		r := &results[i]
		r.Median, r.Q1, r.Q3 = quantile(r.Seconds, 0.5), quantile(r.Seconds, 0.25), quantile(r.Seconds, 0.75)
		r.GBps = float64(r.Bytes) / r.Median / 1e9
	}
	return results, nil
}

func timed(run func(), calls int) time.Duration {
	start := time.Now()
	for range calls {
		run()
	}
	return time.Since(start)
}

func quantile(s []float64, q float64) float64 {
	s = slices.Sorted(slices.Values(s))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// compare computes the ratios. It computes them for each round and reports their medians,
// because a temporary disturbance of the machine then affects both sides of a ratio. ref
// returns the reference of a round.
func compare(results []Result, ref func(round int) reference) {
	for i := range results {
		r := &results[i]
		for _, p := range results {
			if p.Path == Plain && p.Elem == r.Elem && p.Size == r.Size && plainOf(r.Kernel) == p.Kernel {
				r.Speedup = medianRatio(r.Seconds, func(round int) float64 { return p.Seconds[round] })
			}
		}
		if r.limit != nil {
			r.OfLimit = medianRatio(r.Seconds, func(round int) float64 { return r.limit(ref(round)) })
		}
	}
}

// medianRatio returns the median over all rounds of the ratio of of(round) to the seconds
// of the round.
func medianRatio(seconds []float64, of func(round int) float64) float64 {
	var ratios []float64
	for round, s := range seconds {
		ratios = append(ratios, of(round)/s)
	}
	return quantile(ratios, 0.5)
}

// Table writes the results as a table.
func Table(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "kernel\telem\tsize\tn\tpath\ttime\tspread\tGB/s\tx plain\t% limit\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%v\t±%.0f%%\t%.1f\t%s\t%s\t\n", r.Kernel, r.Elem, r.Size, r.N, r.Path,
			time.Duration(r.Median*1e9).Round(10*time.Nanosecond), 50*(r.Q3-r.Q1)/r.Median, r.GBps,
			ratio(r.Speedup, 1, 2), ratio(r.OfLimit, 100, 0))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	seen := map[string]bool{"": true}
	for _, r := range results {
		if seen[r.Format] {
			continue
		}
		seen[r.Format] = true
		if _, err := fmt.Fprintf(w, "%s: %s\n", r.Kernel, r.Format); err != nil {
			return err
		}
	}
	return nil
}

func ratio(v, scale float64, digits int) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, v*scale)
}

// plainOf returns the kernel whose plain Go loop is the reference of a kernel.
func plainOf(kernel string) string {
	kernel, _, _ = strings.Cut(kernel, "/")
	kernel, _ = strings.CutSuffix(kernel, "NT")
	return kernel
}
