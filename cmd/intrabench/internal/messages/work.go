package messages

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// Work is the cost of the protocol itself for a message of a byte from rank 0 to rank 1, in
// one process, without any link and without waiting. It is the cost that replication adds if
// each process has a core of its own.
type Work struct {
	Degrees []int     `json:"degrees"`
	Mirror  bool      `json:"mirror"`  // every replica sends to every replica
	Seconds []float64 `json:"seconds"` // seconds of a message in one process, for each round
	spread.Spread
	Ratio       *spread.Spread `json:"ratio,omitempty"` // relative to the first protocol, by round
	Allocations float64        `json:"allocations"`     // allocations for a message in one process
}

// MeasureWork measures every protocol in turn, in every round.
func MeasureWork(ctx context.Context, degrees [][]int, rounds, messages int) ([]Work, error) {
	var results []Work
	for _, mirror := range []bool{false, true} {
		for _, d := range degrees {
			if !mirror || max(d[0], d[1]) > 1 {
				results = append(results, Work{Degrees: d, Mirror: mirror})
			}
		}
	}
	var jobs []*directJob
	for _, w := range results {
		j, err := newDirectJob(ctx, w.Degrees, w.Mirror)
		if err != nil {
			return nil, err
		}
		defer j.end(nil)
		jobs = append(jobs, j)
	}
	for range rounds {
		for i, j := range jobs {
			seconds, allocations, err := j.work(messages)
			if err != nil {
				return nil, fmt.Errorf("the protocol between ranks with %s replicas: %w", Degrees(results[i].Degrees), err)
			}
			results[i].Seconds = append(results[i].Seconds, seconds)
			results[i].Allocations = allocations // taken from the last round, in which the pools are filled
		}
	}
	for i := range results {
		results[i].Spread = spread.Of(results[i].Seconds)
		if i > 0 {
			results[i].Ratio = new(ratios(results[i].Seconds, results[0].Seconds))
		}
	}
	return results, nil
}

// directJob is a job in which one goroutine drives all processes. It never waits.
type directJob struct {
	worlds []*comm.Comm
	end    context.CancelCauseFunc
}

// direct is a link that delivers a message within Send.
type direct struct {
	transport.Link // its methods are never called
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

func newDirectJob(ctx context.Context, degrees []int, mirror bool) (*directJob, error) {
	j := &directJob{}
	ctx, j.end = context.WithCancelCause(ctx)
	engines := make(map[job.Process]*sdr.Engine)
	all := job.Processes(degrees)
	for _, p := range all {
		links := make(map[job.Process]*direct)
		engines[p] = sdr.NewEngine(sdr.Config{
			Rank: p.Rank, Replica: p.Replica, Degrees: degrees, Mirror: mirror, Poller: transport.NewPoller(), Context: ctx,
			Link: func(rank, replica int) transport.Link {
				to := job.Process{Rank: rank, Replica: replica}
				if links[to] == nil {
					links[to] = &direct{to: engines[to].Receiver(p.Rank, p.Replica)}
				}
				return links[to]
			},
		})
	}
	for _, p := range all {
		w, err := bridge.World(engines[p])
		if err != nil {
			j.end(err)
			return nil, err
		}
		j.worlds = append(j.worlds, w.(*comm.Comm))
	}
	return j, nil
}

// work passes messages. It returns the cost of one message for a process.
func (j *directJob) work(messages int) (seconds, allocations float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	if err := j.pass(messages); err != nil {
		return 0, 0, err
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	each := float64(messages * len(j.worlds))
	return took.Seconds() / each, float64(after.Mallocs-before.Mallocs) / each, nil
}

func (j *directJob) pass(messages int) error {
	buf := make([]byte, 1)
	for range messages {
		for _, w := range j.worlds {
			if w.Rank() == 0 {
				if err := comm.Send(w, buf, 1, 0); err != nil {
					return err
				}
			}
		}
		for _, w := range j.worlds {
			if w.Rank() == 1 {
				if _, err := comm.Recv(w, buf, 0, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
