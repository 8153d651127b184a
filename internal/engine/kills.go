package engine

import (
	"runtime"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
)

// kills counts the points at which this process may be killed on purpose,
// and kills it there.
type kills struct {
	mu      sync.Mutex
	count   map[job.KillPoint]int64
	stepped []int // of due, kills at steps that have been
	due     []job.Kill
	die     func(job.Kill) // does not return in a process of its own
}

func newKills(due []job.Kill, die func(job.Kill)) *kills {
	return &kills{count: make(map[job.KillPoint]int64), due: due, die: die}
}

// next counts an event and returns the kill that is due at it.
func (k *kills) next(point job.KillPoint) (job.Kill, bool) {
	if len(k.due) == 0 {
		return job.Kill{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.count[point]
	k.count[point]++
	for _, d := range k.due {
		if d.Point == point && d.Count == n && d.Step == "" {
			return d, true
		}
	}
	return job.Kill{}, false
}

// at is a kill point in the program's own execution.
func (k *kills) at(point job.KillPoint) {
	if d, ok := k.next(point); ok {
		k.die(d)
	}
}

// step is a kill point in recovery, which counts once.
func (k *kills) step(point job.KillPoint, step string) bool {
	i := slices.IndexFunc(k.due, func(d job.Kill) bool { return d.Point == point && d.Step == step })
	if i < 0 {
		return false
	}
	k.mu.Lock()
	first := !slices.Contains(k.stepped, i)
	k.stepped = append(k.stepped, i)
	k.mu.Unlock()
	if first {
		k.die(k.due[i])
	}
	return first
}

// stepHere is step in the goroutine of the program, which ends there in a job
// that runs in one process.
func (k *kills) stepHere(point job.KillPoint, step string) {
	if k.step(point, step) {
		runtime.Goexit()
	}
}

// mid returns the kill point inside the next transfer, nil if this process is
// not to be killed inside any. Transfers are counted when they happen: a frame
// to a process that has died before is none.
func (k *kills) mid(point job.KillPoint) func() bool {
	if !slices.ContainsFunc(k.due, func(d job.Kill) bool { return d.Point == point }) {
		return nil
	}
	return func() bool {
		d, ok := k.next(point)
		if ok {
			k.die(d)
		}
		return !ok
	}
}
