package intra

import (
	"fmt"
	"sync"

	"github.com/intrahpc/intra/internal/replica/engine"
)

// Task is a type of task: a kernel that sections launch. Tasks are package variables, which
// Register makes.
type Task struct {
	kernel engine.Kernel
	number int // index among all types of tasks of the program, from 0
}

// Name returns the name with which the task was registered.
func (t *Task) Name() string { return t.kernel.Name }

// registry holds the names in use. It is filled by the initialisation of package variables,
// before any process is entered.
var registry struct {
	sync.Mutex
	names map[string]bool
}

// Register makes a task type. The name consists of the import path of its package, a dot,
// for a method the receiver's type and a dot, and the function's name. It appears in
// reports and errors and must be the same in all replicas. Register panics if the name is
// already registered.
func Register(name string) *Task {
	registry.Lock()
	defer registry.Unlock()
	if registry.names[name] {
		panic(fmt.Sprintf("intra.Register: task %q is registered twice", name))
	}
	if registry.names == nil {
		registry.names = make(map[string]bool)
	}
	registry.names[name] = true
	return &Task{engine.NewKernel(name), len(registry.names) - 1}
}
