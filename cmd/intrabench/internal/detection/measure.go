package detection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Options sets the amount of work.
type Options struct {
	Rounds int           // how often each loss happens
	Runs   int           // number of runs without a loss
	Time   time.Duration // approximate time of a run without a loss
	Rarer  int           // factor by which the interval of beats is longer in every second run without a loss
	Before func(what string)
}

// Kind is a kind of loss.
type Kind int

// The losses. All of them except the first happen on separate hosts.
const (
	ProcessHere Kind = iota
	Process
	Host
	Link
	kinds
)

func (k Kind) String() string {
	return [...]string{"kill -9 of a process, one host", "kill -9 of a process", "kill -9 of all on a host", "the link of a host is cut"}[k]
}

// Loss is the result for one kind of loss.
type Loss struct {
	Loss    string        `json:"loss"`
	Seconds []float64     `json:"seconds"` // seconds from the loss until the last survivor had handled it
	Spread  spread.Spread `json:"spread"`
}

// Work is one run without a loss.
type Work struct {
	Outcome
	// WatchCPU is the CPU time of the coordinator, the agents and their watchdogs. JobCPU is
	// the CPU time of the processes of the job. Both are in seconds per second.
	WatchCPU float64 `json:"watch_cpu"`
	JobCPU   float64 `json:"job_cpu"`

	Datagrams float64 `json:"datagrams"` // datagrams per second, of all hosts together
	Bytes     float64 `json:"bytes"`     // bytes of their frames, per second
}

// share returns the CPU time of coordinator and agents relative to that of the job.
func (w Work) share() float64 { return w.WatchCPU / w.JobCPU }

// Cost compares runs with the usual interval of beats and with a longer one.
type Cost struct {
	Passes int    `json:"passes"`
	Rarer  int    `json:"rarer"`
	Usual  []Work `json:"usual"`
	Rare   []Work `json:"rare"`
	// Ratio is the quotient of the times of the two runs of a pair: usual interval over longer
	// interval.
	Ratio      spread.Spread `json:"ratio"`
	UsualShare spread.Spread `json:"usual_cpu_share"` // CPU time of coordinator and agents, relative to that of the job
	RareShare  spread.Spread `json:"rare_cpu_share"`
}

// Measurement holds all results.
type Measurement struct {
	Losses []Loss `json:"losses"`
	Cost   *Cost  `json:"cost,omitempty"`
}

// Runner performs the runs. Lab implements it.
type Runner interface {
	// Lose causes a loss in a job. It returns the seconds until the last survivor had handled
	// it.
	Lose(ctx context.Context, k Kind) (float64, error)
	// Work runs a job to its end on separate hosts.
	Work(ctx context.Context, passes, rarer int, about time.Duration) (Work, error)
}

// errRun marks a run whose result is not usable.
var errRun = errors.New("a run that cannot be used")

// Measure makes all requested measurements.
func Measure(ctx context.Context, lab Runner, o Options) (*Measurement, error) {
	m := &Measurement{Losses: []Loss{}}
	if o.Rounds > 0 {
		m.Losses = make([]Loss, kinds)
	}
	for round := range o.Rounds {
		o.tell("round %d of %d: losses", round+1, o.Rounds)
		for i := range kinds {
			k := (i + Kind(round)) % kinds
			s, err := lab.Lose(ctx, k)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", k, err)
			}
			if s <= 0 {
				return nil, fmt.Errorf("%v: %w: it was handled %g seconds after it", k, errRun, s)
			}
			m.Losses[k].Seconds = append(m.Losses[k].Seconds, s)
		}
	}
	for k := range m.Losses {
		m.Losses[k].Loss, m.Losses[k].Spread = Kind(k).String(), spread.Of(m.Losses[k].Seconds)
	}
	var err error
	if o.Runs > 0 {
		m.Cost, err = o.cost(ctx, lab)
	}
	return m, err
}

func (o *Options) tell(format string, args ...any) {
	if o.Before != nil {
		o.Before(fmt.Sprintf(format, args...))
	}
}

// somePasses is the number of passes that determines how long a pass takes.
const somePasses = 50

// cost runs the job in both ways in turn.
func (o *Options) cost(ctx context.Context, lab Runner) (*Cost, error) {
	o.tell("how long a pass takes")
	first, err := lab.Work(ctx, somePasses, 1, 0)
	if err != nil {
		return nil, fmt.Errorf("without a loss: %w", err)
	}
	c := &Cost{Passes: max(int(o.Time.Seconds()/first.Seconds*somePasses), 1), Rarer: o.Rarer}
	var ratio, usual, rare []float64
	for run := range o.Runs {
		o.tell("run %d of %d without a loss", run+1, o.Runs)
		var pair [2]Work
		ways := []int{1, o.Rarer}
		order := []int{0, 1}
		if run%2 == 1 {
			slices.Reverse(order)
		}
		for _, i := range order {
			if pair[i], err = lab.Work(ctx, c.Passes, ways[i], o.Time); err != nil {
				return nil, fmt.Errorf("without a loss: %w", err)
			}
		}
		if pair[0].Sum != pair[1].Sum || len(c.Usual) > 0 && pair[0].Sum != c.Usual[0].Sum {
			return nil, fmt.Errorf("%w: the results %v and %v", errRun, pair[0].Sum, pair[1].Sum)
		}
		c.Usual, c.Rare = append(c.Usual, pair[0]), append(c.Rare, pair[1])
		ratio = append(ratio, pair[0].Seconds/pair[1].Seconds)
		usual, rare = append(usual, pair[0].share()), append(rare, pair[1].share())
	}
	c.Ratio, c.UsualShare, c.RareShare = spread.Of(ratio), spread.Of(usual), spread.Of(rare)
	return c, nil
}
