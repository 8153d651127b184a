package launch

import (
	"slices"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// outputs is the output of the processes of a job, merged by rank.
type outputs struct {
	console *output.Console
	ranks   []*output.Rank

	mu       sync.Mutex
	of       map[head.From]*output.Process
	from     map[int][]head.From   // processes that write for a rank
	reported map[*output.Rank]bool // ranks whose difference was reported
	seen     map[head.From]uint64  // bytes that each process had written at the last call of wrote
}

func newOutputs(c *output.Console, degrees []int) *outputs {
	o := &outputs{console: c, of: make(map[head.From]*output.Process), seen: make(map[head.From]uint64), from: make(map[int][]head.From)}
	for rank, degree := range degrees {
		o.ranks = append(o.ranks, output.NewRank(c, rank, degree))
	}
	return o
}

// add creates the output of a process. The output of a spare belongs to no rank
// yet.
func (o *outputs) add(at head.From, p job.Process, r head.Role) *output.Process {
	var x *output.Process
	switch r {
	case head.First:
		x = output.NewProcess(p, o.ranks[p.Rank])
	case head.Joiner:
		x = output.NewMuted(p, o.ranks[p.Rank])
	case head.Spare:
		x = output.NewMuted(job.Process{Rank: p.Rank}, output.NewRank(o.console, p.Rank, 1))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[at] = x
	o.from[p.Rank] = append(o.from[p.Rank], at)
	return x
}

// move makes the output of a spare a part of a rank's output.
func (o *outputs) move(at head.From, p job.Process) {
	o.get(at).Move(p, o.ranks[p.Rank])
	o.mu.Lock()
	defer o.mu.Unlock()
	o.from[p.Rank] = append(o.from[p.Rank], at)
}

// get returns the output of a process, nil if there is none.
func (o *outputs) get(at head.From) *output.Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of[at]
}

// confirm reports the written output to the agents, at intervals until done is closed. When
// more output of a rank has been written, it calls tell for every writer of the rank.
func (o *outputs) confirm(done <-chan struct{}, tell func(head.From, output.Written)) {
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	confirmed := make([][output.Crashes]output.Written, len(o.ranks))
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for rank, r := range o.ranks {
			for st, w := range r.Written() {
				if w == confirmed[rank][st] {
					continue
				}
				confirmed[rank][st] = w
				for _, at := range o.writers(rank) {
					tell(at, w)
				}
			}
		}
	}
}

// confirmEvery is the interval at which confirm reports.
const confirmEvery = 100 * time.Millisecond

// writers lists the processes that write, or have written, for a rank.
func (o *outputs) writers(rank int) []head.From {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.from[rank])
}

// wrote lists the processes that have written output since its last call.
func (o *outputs) wrote() (all []head.From) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for at, p := range o.of {
		if n := p.Bytes(); n > o.seen[at] {
			o.seen[at] = n
			all = append(all, at)
		}
	}
	return all
}

// firstReport returns true for the first call with a rank, and false for later ones.
func (o *outputs) firstReport(r *output.Rank) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reported == nil {
		o.reported = make(map[*output.Rank]bool)
	}
	first := !o.reported[r]
	o.reported[r] = true
	return first
}
