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

// Kernel is a type of task. It is told from others by its address.
type Kernel struct{ Name string }

// Task is a call of a kernel in a section.
type Task struct {
	Kernel  *Kernel
	Body    func()
	Regions []update.Region
	At      callsite.Site // of the launch

	known *known         // what this process knows of tasks of this kernel
	times *section.Times // and of those that take as long as this one
	bytes int            // of its update
	place int            // of its first written region, among those of the section
}

// Section is a section whose tasks have been launched, or are being launched.
type Section struct {
	Number uint64
	Policy sched.Policy
	Tasks  []Task
	At     callsite.Site // where it was opened
	ByHand bool          // by a call that the user wrote
	Inside time.Duration // from its opening to its end, of one opened by hand that has no tasks

	// Guard calls a body of a task. If it panics, it says of which task. It
	// does not return then.
	Guard func(t *Task, body func())
	// Agree, if set, has every replica run every task, and is called when all
	// are here: the section is complete if it returns nil.
	Agree func() error

	decision *decision     // to share or not, and how, with the adaptive policy
	bytes    int           // of all updates, with that policy
	way      direct.Way    // that was decided
	tries    bool          // it is shared to see what its first task takes
	begun    time.Duration // to be shared, with all who came to the first one
	inBodies time.Duration // spent in bodies here
	ran      int           // bodies run here
	along    int           // of them that have stored their results meanwhile, whose time is not in inBodies
	helpers  helpers       // who helps to run them
	exchange exchange      // how its results come to the others
	pending  atomic.Int64  // updates whose memory is not yet handed over
	verifier *verifier     // nil: no task of it is verified
}

// regions returns those of a task.
func (s *Section) regions(task int) []update.Region { return s.Tasks[task].Regions }
