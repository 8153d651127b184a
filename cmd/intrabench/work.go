package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// direct is a link that delivers within Send, so that all processes of a job
// can be driven by one goroutine, which never waits.
type direct struct {
	transport.Link // never called
	to             transport.Receiver
	frame          []byte
}

func (d *direct) Send(f *transport.Frame) {
	d.frame = d.frame[:0]
	for _, p := range f.Payload {
		d.frame = append(d.frame, p...)
	}
	f.Header.Size = uint64(len(d.frame))
	d.to.End(&f.Header, d.frame)
	f.Owner.Sent(f, nil)
}

// writeWork writes what the protocol itself costs: the time for one message of
// a byte from rank 0 to rank 1 without any link or waiting, per process. That
// is what replication adds where each process has a core of its own.
func writeWork(ctx context.Context, out io.Writer, degrees [][]int, rounds int) error {
	var jobs []*benchJob
	for _, d := range degrees {
		j, err := newDirectJob(ctx, d)
		if err != nil {
			return err
		}
		defer j.close()
		jobs = append(jobs, j)
	}
	best := make([]time.Duration, len(jobs))
	for range rounds {
		for i, j := range jobs {
			t, err := work(j, 20_000)
			if err != nil {
				return err
			}
			if best[i] == 0 || t < best[i] {
				best[i] = t
			}
		}
	}
	fmt.Fprintf(out, "protocol, ns per message of 1 byte and process:")
	for i, t := range best {
		fmt.Fprintf(out, "  %v %d (ratio %.2f)", degrees[i], t.Nanoseconds(), float64(t)/float64(best[0]))
	}
	fmt.Fprintln(out)
	return nil
}

func newDirectJob(ctx context.Context, degrees []int) (*benchJob, error) {
	j := &benchJob{degrees: degrees}
	ctx, j.end = context.WithCancelCause(ctx)
	for rank, d := range degrees {
		for k := range d {
			links := make(map[[2]int]*direct)
			j.engines = append(j.engines, sdr.NewEngine(sdr.Config{
				Rank: rank, Replica: k, Degrees: degrees, Poller: transport.NewPoller(), Context: ctx,
				Link: func(r, c int) transport.Link {
					key := [2]int{r, c}
					if links[key] == nil {
						links[key] = &direct{to: j.engines[r*degrees[0]+c].Receiver(rank, k)}
					}
					return links[key]
				},
			}))
		}
	}
	for _, e := range j.engines {
		w, err := comm.World(e)
		if err != nil {
			return nil, err
		}
		j.worlds = append(j.worlds, w)
	}
	return j, nil
}

// work returns the time per message and process.
func work(j *benchJob, count int) (time.Duration, error) {
	buf := make([]byte, 1)
	start := time.Now()
	for range count {
		for _, w := range j.worlds {
			if w.Rank() == 0 {
				if err := comm.Send(w, buf, 1, 0); err != nil {
					return 0, err
				}
			}
		}
		for _, w := range j.worlds {
			if w.Rank() == 1 {
				if _, err := comm.Recv(w, buf, 0, 0); err != nil {
					return 0, err
				}
			}
		}
	}
	return time.Since(start) / time.Duration(count*len(j.worlds)), nil
}
