package intra

import (
	"fmt"
	"runtime/debug"

	"github.com/intrahpc/intra/internal/checked"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// guardTask calls the body of a task. If it panics, guardTask adds the name of the task to
// the panic.
func guardTask(t *engine.Task, body func()) {
	returned := false
	defer func() {
		if !returned {
			broken(t, recover())
		}
	}()
	body()
	returned = true
}

// broken ends a task whose body has not returned. v is the value of its panic.
func broken(t *engine.Task, v any) {
	if v != nil {
		stack := debug.Stack()
		if p, ok := v.(*checked.Panic); ok {
			v, stack = p.Value, p.Stack
		}
		panic(&TaskPanic{Task: t.Kernel.Name, Pos: t.At.String(), Value: v, Stack: stack})
	}
	if e := endedHere(fmt.Sprintf("task %s, launched at %s,", t.Kernel.Name, t.At)); e != nil {
		panic(e)
	}
}
