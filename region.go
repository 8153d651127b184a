package intra

import "github.com/intrahpc/intra/update"

// Region is a typed piece of memory that a task reads or writes. If its type holds
// pointers, End returns an error.
type Region = update.Region

// In names memory that a task reads.
func In[T any](name string, s []T) Region { return update.Slice(update.In, name, s) }

// Out names memory that a task writes and does not read before. The task may write only a
// part: the rest keeps its value from the entry of the section.
func Out[T any](name string, s []T) Region { return update.Slice(update.Out, name, s) }

// InOut names memory that a task reads and writes.
func InOut[T any](name string, s []T) Region { return update.Slice(update.InOut, name, s) }

// InVar is like In, for one variable.
func InVar[T any](name string, v *T) Region { return update.Var(update.In, name, v) }

// OutVar is like Out, for one variable.
func OutVar[T any](name string, v *T) Region { return update.Var(update.Out, name, v) }

// InOutVar is like InOut, for one variable.
func InOutVar[T any](name string, v *T) Region { return update.Var(update.InOut, name, v) }

// Scratch names work space of a task: its contents are undefined before and after the
// task, and are never sent.
func Scratch[T any](name string, s []T) Region { return update.Slice(update.Scratch, name, s) }

// ScratchVar is like Scratch, for one variable.
func ScratchVar[T any](name string, v *T) Region { return update.Var(update.Scratch, name, v) }
