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

// runPingpong measures half round trips and bandwidth of messages between two
// ranks, without and with replicas.
func runPingpong(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("pingpong")
	links := slices.Clone(linkKinds)
	degrees := []string{"1,1", "2,1", "2,2"}
	rounds := fs.Int("rounds", 5, "how often every variant is measured, in turn; the best counts")
	largest := fs.Int("max", 8<<20, "largest message in `bytes`")
	budget := fs.Duration("time", 50*time.Millisecond, "about how long one measurement takes")
	fs.Func("link", "`kinds` of links, comma-separated (default inproc,shm,unix)", fields(&links, ","))
	fs.Func("degrees", "`degrees` of the two ranks, separated by spaces (default \"1,1 2,1 2,2\")", fields(&degrees, " "))
	mirror := fs.Bool("mirror", false, "let every replica send to every replica")
	if err := parse(fs, args); err != nil {
		return err
	}
	var variants [][]int
	for _, s := range degrees {
		d, err := parseDegrees(s)
		if err == nil && len(d) != 2 {
			err = fmt.Errorf("degrees %q: a ping-pong has two ranks", s)
		}
		if err != nil {
			return err
		}
		variants = append(variants, d)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, link := range links {
		var jobs []*benchJob
		fmt.Fprintf(w, "%s\t", link)
		for i, d := range variants {
			j, err := newBenchJob(ctx, link, d, *mirror)
			if err != nil {
				return err
			}
			defer j.close()
			jobs = append(jobs, j)
			fmt.Fprintf(w, "%s µs\tMB/s\tratio\t", degrees[i])
		}
		fmt.Fprintln(w)
		for size := 1; size <= *largest; size *= 8 {
			best := make([]time.Duration, len(jobs))
			count := 20
			for round := range *rounds + 1 {
				for i, j := range jobs {
					t, err := pingpong(j, size, count)
					if err != nil {
						return err
					}
					if round == 0 { // warm up, and find out how many fit the time
						count = min(count, 1000)
						continue
					}
					if best[i] == 0 || t < best[i] {
						best[i] = t
					}
				}
				if round == 0 {
					t, err := pingpong(jobs[0], size, count)
					if err != nil {
						return err
					}
					count = int(min(max(*budget/max(2*t, 1), 5), 100_000))
				}
			}
			fmt.Fprintf(w, "%d\t", size)
			for _, t := range best {
				fmt.Fprintf(w, "%.2f\t%.0f\t%.2f\t", t.Seconds()*1e6, float64(size)/t.Seconds()/1e6, float64(t)/float64(best[0]))
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
	return writeWork(ctx, out, variants, *rounds)
}

// pingpong returns the time of half a round trip, as the slowest replica of
// rank 0 sees it.
func pingpong(j *benchJob, size, count int) (time.Duration, error) {
	times := make(chan time.Duration, len(j.worlds))
	err := j.run(func(c *comm.Comm) error {
		buf := make([]byte, size)
		if err := c.Barrier(); err != nil {
			return err
		}
		start := time.Now()
		for range count {
			if c.Rank() == 0 {
				if err := comm.Send(c, buf, 1, 0); err != nil {
					return err
				}
			}
			if _, err := comm.Recv(c, buf, 1-c.Rank(), 0); err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := comm.Send(c, buf, 0, 0); err != nil {
					return err
				}
			}
		}
		if c.Rank() == 0 {
			times <- time.Since(start)
		}
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
	return slowest / time.Duration(2*count), nil
}
