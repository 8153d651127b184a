package engine

import (
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// Kernel is a type of task. Its address identifies it.
type Kernel struct {
	Name string
	sum  uint64 // hash of its name, for signatures; 0: not computed yet
}

// NewKernel returns the type of task with that name.
func NewKernel(name string) Kernel { return Kernel{name, update.TypeSum(name)} }

func (k *Kernel) typeSum() uint64 {
	if k.sum != 0 {
		return k.sum
	}
	return update.TypeSum(k.Name)
}

// Task is a call of a kernel in a section.
type Task struct {
	Kernel  *Kernel
	Body    func()
	Regions []update.Region
	At      *callsite.Site // place of the launch

	counted bool           // its run is included in the statistics
	known   *known         // statistics of tasks of this kernel
	times   *section.Times // statistics of tasks that take a similar time
	bytes   int            // size of its update

	read, written int // bytes that it reads and writes
	place         int // index of its first written region, among those of the section
}

// Section is a section whose tasks have been launched, or are being launched.
type Section struct {
	Number uint64
	Policy sched.Policy
	Tasks  []Task
	At     *callsite.Site // where it was opened
	ByHand bool           // by a call that the user wrote, not by generated code
	Keep   bool           // its results may stay where they were computed
	Inside time.Duration  // time from its opening to its end, for a section opened by hand without tasks

	// Guard calls the body of a task. If the body panics, Guard names the task in its
	// message and does not return.
	Guard func(t *Task, body func())
	// Agree, if set, makes every replica run every task. It is called when all results have
	// arrived. The section is complete if Agree returns nil.
	Agree func() error

	decision *decision     // whether and how to share, with the adaptive policy
	bytes    int           // size of all updates, with that policy
	way      direct.Way    // way chosen for this section
	tries    bool          // it is shared as a trial, to measure its first task
	begun    time.Duration // when sharing began; in the first section this is after the wait for the peers
	inBodies time.Duration // time in bodies on this replica
	ran      int           // number of bodies run on this replica
	running  int           // the task that runShort is running, or has run last
	along    int           // number of bodies that stored their results as they ran; inBodies does not include them
	helpers  helpers       // workers that help to run its tasks
	exchange exchange      // distributes its results
	pending  atomic.Int64  // number of updates whose memory was not handed over yet
	verifier *verifier     // nil: none of its tasks is verified
}

// Add adds a task to s, whose fields the caller sets. The memory behind the tasks is zero.
func (s *Section) Add() *Task {
	n := len(s.Tasks)
	if n == cap(s.Tasks) {
		s.Tasks = append(s.Tasks, Task{})
	}
	s.Tasks = s.Tasks[:n+1]
	return &s.Tasks[n]
}

// Reset makes s a section without tasks. It keeps the memory of the tasks of the section
// before, which the caller has cleared.
func (s *Section) Reset() {
	tasks := s.Tasks[:0]
	*s = Section{Tasks: tasks}
}

// keeps reports whether the results of s stay where they were computed.
func (s *Section) keeps() bool {
	_, ok := s.exchange.(keptResults)
	return ok
}

// regions returns the regions of a task.
func (s *Section) regions(task int) []update.Region { return s.Tasks[task].Regions }
