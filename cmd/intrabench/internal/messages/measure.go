package messages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch"
)

// Options selects the measurements, and how often they are repeated.
type Options struct {
	Links   []string // kinds of links, as in intrarun's -link
	Degrees [][]int
	Orders  []Order // one job is run for each order; empty: one job with Unasked
	Cases   []Case
	Rounds  int
	Time    time.Duration // approximate time of a case in a job
	// Program is the command of a process of the job. The command calls Rank with the argument
	// that is appended to it.
	Program []string
	// Peer is a shell command that measures the same cases without this module (see the folder
	// peer of intrabench), or "".
	Peer string
	// MPIRun is the command that starts jobs over job.LinkMPI. The number of processes and the
	// command line of intrarun follow it. The program has the tag mpi.
	MPIRun   []string
	Intrarun string
}

// Order is the way in which a job handles the order of messages that the replicas of a rank
// receive.
type Order string

const (
	Unasked  Order = ""         // the program receives from no arbitrary source, so no result depends on the order
	Asserted Order = "asserted" // the program asserts that no result depends on the order
	Decided  Order = "decided"  // the replicas agree on the order
)

// Result holds the times of one case over one kind of link with the ranks of one job.
type Result struct {
	Case
	Link    string    `json:"link"`
	Degrees []int     `json:"degrees"`
	Order   Order     `json:"order,omitempty"`
	Seconds []float64 `json:"seconds"` // seconds of one message or operation, for each round: the slowest process counts
	spread.Spread
	// Ratio is the spread of the time relative to that of the first job with as many ranks,
	// round by round. It is nil for that job.
	Ratio *spread.Spread `json:"ratio,omitempty"`
	// ToAsserted is, for a job whose replicas agree on the order, the time relative to the
	// same job with an asserting program.
	ToAsserted *spread.Spread `json:"to_asserted,omitempty"`
	// ToPeer is the time relative to the outside program, if that has the same number of
	// ranks.
	ToPeer *spread.Spread `json:"to_peer,omitempty"`
}

// Measure runs every job in every round, in turn, so that drift of the machine affects all of
// them alike. before is called before each round and may be nil. The results are sorted by
// link, then by job. The results of the outside program come last.
func Measure(ctx context.Context, o Options, before func(round int)) ([]Result, error) {
	var results []Result
	for _, link := range o.Links {
		for _, d := range o.Degrees {
			for _, order := range o.orders() {
				for _, c := range o.Cases {
					results = append(results, Result{Case: c, Link: link, Degrees: d, Order: order})
				}
			}
		}
	}
	jobs := len(o.Links) * o.jobs()
	programs := jobs
	if o.Peer != "" {
		programs++
		for _, c := range o.Cases {
			results = append(results, Result{Case: c, Link: peerLink})
		}
	}
	for round := range o.Rounds {
		if before != nil {
			before(round)
		}
		for i := range programs {
			// The order rotates, so that no job always follows the same one.
			k := (i + round) % programs
			of := results[k*len(o.Cases):][:len(o.Cases)]
			if k == jobs {
				if err := o.measurePeer(ctx, of); err != nil {
					return nil, fmt.Errorf("peer: %w", err)
				}
				continue
			}
			seconds, err := o.run(ctx, of[0])
			if err != nil {
				return nil, fmt.Errorf("ranks with %s replicas over %s: %w", Degrees(of[0].Degrees), of[0].Link, err)
			}
			for k, s := range seconds {
				of[k].Seconds = append(of[k].Seconds, s)
			}
		}
	}
	besidePeer(results[:jobs*len(o.Cases)], results[jobs*len(o.Cases):])
	for i := range results[:jobs*len(o.Cases)] {
		r := &results[i]
		r.Spread = spread.Of(r.Seconds)
		first := slices.IndexFunc(results, func(b Result) bool {
			return b.Case == r.Case && b.Link == r.Link && len(b.Degrees) == len(r.Degrees)
		})
		if first < i {
			r.Ratio = new(ratios(r.Seconds, results[first].Seconds))
		}
		asserted := slices.IndexFunc(results, func(b Result) bool {
			return b.Case == r.Case && b.Link == r.Link && slices.Equal(b.Degrees, r.Degrees) && b.Order == Asserted
		})
		if r.Order == Decided && asserted >= 0 {
			r.ToAsserted = new(ratios(r.Seconds, results[asserted].Seconds))
		}
	}
	return results, nil
}

// orders returns the orders of the jobs that have the same link and degrees.
func (o Options) orders() []Order {
	if len(o.Orders) == 0 {
		return []Order{Unasked}
	}
	return o.Orders
}

// jobs returns the number of jobs over each kind of link.
func (o Options) jobs() int { return len(o.Degrees) * len(o.orders()) }

// ratios summarises the quotients of corresponding rounds.
func ratios(of, to []float64) spread.Spread {
	var q []float64
	for i := range of {
		q = append(q, of[i]/to[i])
	}
	return spread.Of(q)
}

// run runs the job of a result, and returns the seconds of each case.
func (o Options) run(ctx context.Context, of Result) ([]float64, error) {
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		return nil, fmt.Errorf("make room for what the processes measure: %w", err)
	}
	defer os.RemoveAll(dir)
	todo := task{Cases: o.Cases, Time: o.Time, Dir: dir, Order: of.Order}
	arg, err := json.Marshal(todo)
	if err != nil {
		return nil, err
	}
	if err := o.start(ctx, of.Link, of.Degrees, string(arg), filepath.Join(dir, "report.json")); err != nil {
		return nil, err
	}
	slowest := make([]float64, len(o.Cases))
	for _, p := range job.Processes(of.Degrees) {
		b, err := os.ReadFile(todo.file(p))
		if err != nil {
			return nil, fmt.Errorf("what %v has measured: %w", p, err)
		}
		var seconds []float64
		if err := json.Unmarshal(b, &seconds); err != nil {
			return nil, fmt.Errorf("what %v has measured: %w", p, err)
		}
		if len(seconds) != len(slowest) {
			return nil, fmt.Errorf("%v has measured %d of %d cases", p, len(seconds), len(slowest))
		}
		for i, s := range seconds {
			slowest[i] = max(slowest[i], s)
		}
	}
	return slowest, nil
}

// start starts a job whose processes get arg. It waits for the end of the job.
func (o Options) start(ctx context.Context, link string, degrees []int, arg, report string) error {
	program := append(slices.Clone(o.Program), arg)
	if link == job.LinkMPI {
		processes := strconv.Itoa(len(job.Processes(degrees)))
		command := slices.Concat(o.MPIRun, []string{processes, o.Intrarun, "-mpi", "-link", job.LinkMPI, "-quiet", "-degrees", Degrees(degrees)}, program)
		_, err := trial.Run(ctx, command)
		return err
	}
	var said bytes.Buffer
	code := launch.Run(ctx, launch.Config{
		Job:     launch.Job{Degrees: degrees, Links: launch.Links{Kind: link, Ring: job.DefaultRing}, Quiet: true, Report: report},
		Program: program, Stdout: &said, Stderr: &said,
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if code != launch.ExitOK {
		return fmt.Errorf("the job ended with exit code %d: %s\n%s", code, verdict(report), bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// verdict returns the error in the report of a job.
func verdict(report string) string {
	var doc struct{ Error string }
	b, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	if err != nil {
		return fmt.Sprintf("there is no report (%v)", err)
	}
	return doc.Error
}
