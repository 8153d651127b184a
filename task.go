package intra

import (
	"fmt"
	"sync"

	"github.com/intrahpc/intra/internal/replica/engine"
)

// Task is a type of task: a kernel that sections launch. Tasks are package
// variables, made by Register.
type Task struct {
	kernel engine.Kernel
	number int // of all types of tasks of the program, from 0
}

// Name returns the name the task was registered with.
func (t *Task) Name() string { return t.kernel.Name }

// registry holds the names taken. It is filled by the initialisation of
// package variables, before any process is entered.
var registry struct {
	sync.Mutex
	names map[string]bool
}

// Register makes a task type. The name is the import path of its package, a dot, the
// receiver's type and a dot for a method, and the function's name. It appears in
// reports and errors and must be the same in all replicas. Registering a name twice
// panics.
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
