package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/intrahpc/intra/comm"
)

// runCollectives measures collective operations, without and with replicas.
func runCollectives(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("collectives")
	links := []string{"shm"}
	degrees := []string{"1,1", "2,2", "1,1,1,1"}
	rounds := fs.Int("rounds", 5, "how often every variant is measured, in turn; the best counts")
	count := fs.Int("count", 200, "operations per measurement")
	fs.Func("link", "`kinds` of links, comma-separated (default shm)", fields(&links, ","))
	fs.Func("degrees", "`degrees` of the ranks, separated by spaces (default \"1,1 2,2 1,1,1,1\")", fields(&degrees, " "))
	if err := parse(fs, args); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, link := range links {
		var jobs []*benchJob
		fmt.Fprintf(w, "%s, µs\tfloat64s\t", link)
		for _, s := range degrees {
			d, err := parseDegrees(s)
			if err != nil {
				return err
			}
			j, err := newBenchJob(ctx, link, d, false)
			if err != nil {
				return err
			}
			defer j.close()
			jobs = append(jobs, j)
			fmt.Fprintf(w, "%s\t", s)
		}
		fmt.Fprintln(w)
		for _, op := range operations {
			for _, n := range op.sizes {
				best := make([]time.Duration, len(jobs))
				for range *rounds {
					for i, j := range jobs {
						t, err := timeOperation(j, op.run, n, *count)
						if err != nil {
							return err
						}
						if best[i] == 0 || t < best[i] {
							best[i] = t
						}
					}
				}
				fmt.Fprintf(w, "%s\t%d\t", op.name, n)
				for _, t := range best {
					fmt.Fprintf(w, "%.2f\t", t.Seconds()*1e6)
				}
				fmt.Fprintln(w)
			}
		}
		w.Flush()
	}
	return nil
}

var vectorSizes = []int{1, 128, 16384}

var operations = []struct {
	name  string
	sizes []int
	run   func(c *comm.Comm, part, all []float64) error
}{
	{"barrier", []int{0}, func(c *comm.Comm, _, _ []float64) error { return c.Barrier() }},
	{"bcast", vectorSizes, func(c *comm.Comm, part, _ []float64) error { return comm.Bcast(c, part, 0) }},
	{"reduce", vectorSizes, func(c *comm.Comm, part, all []float64) error {
		return comm.Reduce(c, part, all[:len(part)], comm.Sum, 0)
	}},
	{"allreduce", vectorSizes, func(c *comm.Comm, part, all []float64) error {
		return comm.Allreduce(c, part, all[:len(part)], comm.Sum)
	}},
	{"allgather", vectorSizes, func(c *comm.Comm, part, all []float64) error { return comm.Allgather(c, part, all) }},
	{"alltoall", vectorSizes, func(c *comm.Comm, _, all []float64) error {
		return comm.Alltoall(c, slices.Clone(all), all)
	}},
}

// timeOperation returns the time of one operation as the slowest process sees
// it.
func timeOperation(j *benchJob, op func(c *comm.Comm, part, all []float64) error, n, count int) (time.Duration, error) {
	times := make(chan time.Duration, len(j.worlds))
	err := j.run(func(c *comm.Comm) error {
		part, all := make([]float64, n), make([]float64, n*c.Size())
		if err := c.Barrier(); err != nil {
			return err
		}
		start := time.Now()
		for range count {
			if err := op(c, part, all); err != nil {
				return err
			}
		}
		times <- time.Since(start)
		return nil
	})
	if err != nil {
		return 0, err
	}
	close(times)
	var slowest time.Duration
	for t := range times {
		slowest = max(slowest, t)
	}
	return slowest / time.Duration(count), nil
}
