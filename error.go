package intra

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// Errors that a SectionError wraps.
var (
	// ErrJobEnded means that the head has ended the job.
	ErrJobEnded = comm.ErrJobEnded
	// ErrDiverged means that the replicas of a rank computed different results, or launched
	// different sections or tasks.
	ErrDiverged = engine.ErrDiverged
	// ErrOpen means that a section was opened while another one is open.
	ErrOpen = errors.New("a section is open already")
)

// SectionError is the reason why a section could not be completed. Generated code
// panics with it, and Main and Run recover it; End returns it.
type SectionError struct {
	Section uint64 // number of the section in its process, from 0
	Task    string // name of the task's type, "" if the error is not about a task
	Pos     string // folder/file:line where the section was opened or the task launched
	Err     error
}

func (e *SectionError) Error() string {
	if e.Task != "" {
		return fmt.Sprintf("%s: section %d: task %s: %v", e.Pos, e.Section, e.Task, e.Err)
	}
	return fmt.Sprintf("%s: section %d: %v", e.Pos, e.Section, e.Err)
}

func (e *SectionError) Unwrap() error { return e.Err }

// TaskPanic is the panic of a task's body, with its kernel and the place of
// its launch.
type TaskPanic struct {
	Task  string
	Pos   string // folder/file:line of the launch
	Value any    // value of the original panic
	Stack []byte
}

func (p *TaskPanic) Error() string {
	return fmt.Sprintf("task %s, launched at %s, panicked: %v\n\n%s", p.Task, p.Pos, p.Value, callsite.UserStack(p.Stack))
}
