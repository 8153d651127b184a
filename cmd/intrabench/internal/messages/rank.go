package messages

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
)

// task is the argument of a job's processes: the cases to measure, and the folder for the
// results.
type task struct {
	Cases []Case        `json:"cases"`
	Time  time.Duration `json:"time"` // approximate time of a case
	Dir   string        `json:"dir"`  // folder, to which each process writes a file
	Order Order         `json:"order"`
}

func (t task) file(p job.Process) string { return filepath.Join(t.Dir, p.String()+".json") }

// Rank is the program of a job that Measure has started. arg is the only argument of the
// program. Rank does not return.
func Rank(arg string) {
	intra.Main(func(p *intra.Process) error {
		var t task
		if err := json.Unmarshal([]byte(arg), &t); err != nil {
			return fmt.Errorf("what to measure: %w", err)
		}
		if t.Order == Asserted {
			if err := p.World().AssertSendDeterministic(); err != nil {
				return err
			}
		}
		if err := t.warmUp(p); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		var seconds []float64
		for _, c := range t.Cases {
			s, err := t.measure(p, c)
			if err != nil {
				return fmt.Errorf("%s of %d: %w", c.Op, c.N, err)
			}
			seconds = append(seconds, s)
		}
		// The output of replicas differs here: each reports its own times, and the slowest
		// counts.
		b, err := json.Marshal(seconds)
		if err != nil {
			return err
		}
		return os.WriteFile(t.file(job.Process{Rank: p.Rank(), Replica: p.Replica()}), b, 0o666)
	})
}

// warmUp runs the first case for as long as several cases take. In the first 100 ms of a job,
// its processes settle on their cores, and the launcher is busy, too.
func (t task) warmUp(p *intra.Process) error {
	op, ok := operationNamed(t.Cases[0].Op)
	if !ok {
		return nil // measure reports the error of an unknown operation
	}
	_, _, err := calibrate(p, op.start(p.World(), t.Cases[0].N), 5*t.Time)
	return err
}

// The time of a case is the median of several batches. So it does not change if another
// process gets the core for a moment.
const (
	leastBatches = 3
	mostBatches  = 15
)

// measure returns the seconds of one operation, measured by this process.
func (t task) measure(p *intra.Process, c Case) (float64, error) {
	op, ok := operationNamed(c.Op)
	if !ok {
		return 0, fmt.Errorf("there is no operation of this name")
	}
	call := op.start(p.World(), c.N)
	calls, took, err := calibrate(p, call, t.Time/mostBatches)
	if err != nil {
		return 0, err
	}
	var times []float64
	for range min(max(leastBatches, t.Time/took), mostBatches) {
		took, err := batch(p.World(), call, calls)
		if err != nil {
			return 0, err
		}
		times = append(times, took.Seconds()/(float64(calls)*op.messages))
	}
	return spread.Of(times).Median, nil
}

func batch(c *comm.Comm, call func() error, calls int) (time.Duration, error) {
	if err := c.Barrier(); err != nil {
		return 0, err
	}
	start := time.Now()
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// calibrate determines how many calls take about the wanted time. All processes have to make
// the same number of calls, so they use the time of one of them.
func calibrate(p *intra.Process, call func() error, wanted time.Duration) (calls int, took time.Duration, err error) {
	for calls = 1; ; calls *= 2 {
		t, err := batch(p.World(), call, calls)
		if err != nil {
			return 0, 0, err
		}
		if p.Rank() == 0 {
			if t, err = intra.Once(p, func() (time.Duration, error) { return t, nil }); err != nil {
				return 0, 0, err
			}
		}
		agreed := []time.Duration{max(t, 1)}
		if err := comm.Bcast(p.World(), agreed, 0); err != nil {
			return 0, 0, err
		}
		if agreed[0] > wanted*2/3 {
			return calls, agreed[0], nil
		}
	}
}
