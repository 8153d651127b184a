// Package fault kills processes on purpose, for tests: at counted points of the execution
// (intrarun's -kill RANK.REPLICA@POINT:K), and at steps of recovery. Mid returns a point
// inside an operation such as a transfer. It becomes the Mid of a transport.Frame.
package fault

import (
	"runtime"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
)

// Points are the kill points of one process. Without a kill for the process, they are not
// counted.
type Points struct {
	mu      sync.Mutex
	count   map[job.KillPoint]int64
	stepped []int // indexes in due of the kills whose steps have happened
	due     []job.Kill
	die     func(job.Kill) // does not return if each process of the job is an operating-system process
}

// New returns the points of a process. It dies at the first of the due points that it
// reaches.
func New(due []job.Kill, die func(job.Kill)) *Points {
	return &Points{count: make(map[job.KillPoint]int64), due: due, die: die}
}

// next counts an event and returns the kill that is due at it.
func (p *Points) next(point job.KillPoint) (job.Kill, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.count[point]
	p.count[point]++
	for _, d := range p.due {
		if d.Point == point && d.Count == n && d.Step == "" {
			return d, true
		}
	}
	return job.Kill{}, false
}

// At marks a point in the program's own execution.
func (p *Points) At(point job.KillPoint) {
	if len(p.due) > 0 { // the compiler inlines this much: it is called for each task
		p.at(point)
	}
}

func (p *Points) at(point job.KillPoint) {
	if d, ok := p.next(point); ok {
		p.die(d)
	}
}

// Step marks a point in recovery. Only its first occurrence counts. Step reports whether
// the process has died there.
func (p *Points) Step(point job.KillPoint, step string) bool {
	i := slices.IndexFunc(p.due, func(d job.Kill) bool { return d.Point == point && d.Step == step })
	if i < 0 {
		return false
	}
	p.mu.Lock()
	first := !slices.Contains(p.stepped, i)
	p.stepped = append(p.stepped, i)
	p.mu.Unlock()
	if first {
		p.die(p.due[i])
	}
	return first
}

// StepHere is Step for the goroutine of the program. If the job runs in one process, a
// death ends only that goroutine.
func (p *Points) StepHere(point job.KillPoint, step string) {
	if p.Step(point, step) {
		runtime.Goexit()
	}
}

// Mid returns a function to be called inside the next transfer, nil if no kill inside a
// transfer is due. Transfers are counted when they happen: a frame to a process that died
// earlier does not count. The function reports whether the transfer continues.
func (p *Points) Mid(point job.KillPoint) func() bool {
	if !slices.ContainsFunc(p.due, func(d job.Kill) bool { return d.Point == point }) {
		return nil
	}
	return func() bool {
		d, ok := p.next(point)
		if ok {
			p.die(d)
		}
		return !ok
	}
}
