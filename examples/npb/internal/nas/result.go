package nas

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// Result is the output that all benchmarks have. Their own results embed it.
type Result struct {
	Benchmark string  `json:"benchmark"`
	Class     Class   `json:"class"`
	Ranks     int     `json:"ranks"`
	Tasks     int     `json:"tasks"`
	Verified  bool    `json:"verified"`
	Seconds   float64 `json:"seconds"`
	Mops      float64 `json:"mops"` // millions of operations per second

	size       string
	iterations int
	operation  string
}

// Seconds is a time that a replica has measured.
type Seconds float64

// Measured implements intra.Measured.
func (Seconds) Measured() {}

// Problem describes a problem and the counted operations.
type Problem struct {
	Size       string
	Iterations int
	Operation  string  // unit that is counted
	Count      float64 // total number of operations
}

// common returns the fields that all results have.
func (r *Result) common() *Result { return r }

// describe sets all fields except whether the result is right. Replicas measure different
// times, but all report that of the slowest rank.
func (r *Result) describe(p *intra.Process, benchmark string, s Settings, of Problem, seconds Seconds) error {
	r.Benchmark, r.Class, r.Ranks, r.Tasks = benchmark, s.Class, p.Size(), s.Tasks
	r.size, r.iterations, r.operation = of.Size, of.Iterations, of.Operation
	var err error
	if r.Seconds, err = intra.Once(p, func() (float64, error) { return float64(seconds), nil }); err != nil {
		return fmt.Errorf("agree on the time: %w", err)
	}
	if r.Seconds, err = comm.AllreduceValue(p.World(), r.Seconds, comm.Max); err != nil {
		return fmt.Errorf("find the slowest rank: %w", err)
	}
	r.Mops = of.Count / r.Seconds / 1e6
	return nil
}

// Print writes the table of the original.
func (r *Result) Print(w io.Writer) {
	verdict := "UNSUCCESSFUL"
	if r.Verified {
		verdict = "SUCCESSFUL"
	}
	fmt.Fprintf(w, "\n %s Benchmark Completed.\n", r.Benchmark)
	for _, line := range []struct{ name, value string }{
		{"Class", r.Class.String()},
		{"Size", r.size},
		{"Iterations", fmt.Sprint(r.iterations)},
		{"Time in seconds", fmt.Sprintf("%.2f", r.Seconds)},
		{"Total processes", fmt.Sprint(r.Ranks)},
		{"Mop/s total", fmt.Sprintf("%.2f", r.Mops)},
		{"Mop/s/process", fmt.Sprintf("%.2f", r.Mops/float64(r.Ranks))},
		{"Operation type", r.operation},
		{"Verification", verdict},
	} {
		fmt.Fprintf(w, " %-16s= %24s\n", line.name, line.value)
	}
}

// Close reports whether got is want up to a relative error.
func Close(got, want, tolerance float64) bool {
	return math.Abs((got-want)/want) <= tolerance
}

// Clock starts a stopwatch. The returned function adds the elapsed time to sum.
func Clock(sum *Seconds) func() {
	from := time.Now()
	return func() { *sum += Seconds(time.Since(from).Seconds()) }
}
