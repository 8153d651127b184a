package intra

import "github.com/intrahpc/intra/update"

// Region is a typed piece of memory that a task reads or writes. Its type
// holds no pointers; a region of a type that does makes End return an error.
type Region = update.Region

// In names memory that a task reads.
func In[T any](name string, s []T) Region { return update.Slice(update.In, name, s) }

// Out names memory that a task writes and does not read before. It may be
// written in part: the rest keeps its value from the entry of the section.
func Out[T any](name string, s []T) Region { return update.Slice(update.Out, name, s) }

// InOut names memory that a task reads and writes.
func InOut[T any](name string, s []T) Region { return update.Slice(update.InOut, name, s) }

// InVar is In for one variable.
func InVar[T any](name string, v *T) Region { return update.Var(update.In, name, v) }

// OutVar is Out for one variable.
func OutVar[T any](name string, v *T) Region { return update.Var(update.Out, name, v) }

// InOutVar is InOut for one variable.
func InOutVar[T any](name string, v *T) Region { return update.Var(update.InOut, name, v) }

// Scratch names work space of a task: its contents mean nothing before and
// after, and are never sent.
func Scratch[T any](name string, s []T) Region { return update.Slice(update.Scratch, name, s) }

// ScratchVar is Scratch for one variable.
func ScratchVar[T any](name string, v *T) Region { return update.Var(update.Scratch, name, v) }

// Part says that r is cut from whole, which the task could get at too. Checked
// mode sees what the task does there. Without it Part does nothing.
func Part[T any](whole []T, r Region) Region { return update.Part(whole, r) }

// InBlock names the rows top..bottom and the columns left..right of a matrix
// that lies in s row by row, width elements each, for a task that reads them.
func InBlock[T any](name string, s []T, top, bottom, left, right, width int) Region {
	return update.Block(update.In, name, s, top, bottom, left, right, width)
}

// OutBlock is [Out] for a block of rows and columns, as of [InBlock].
func OutBlock[T any](name string, s []T, top, bottom, left, right, width int) Region {
	return update.Block(update.Out, name, s, top, bottom, left, right, width)
}

// InOutBlock is [InOut] for a block of rows and columns, as of [InBlock].
func InOutBlock[T any](name string, s []T, top, bottom, left, right, width int) Region {
	return update.Block(update.InOut, name, s, top, bottom, left, right, width)
}

// ScratchBlock is [Scratch] for a block of rows and columns, as of [InBlock].
func ScratchBlock[T any](name string, s []T, top, bottom, left, right, width int) Region {
	return update.Block(update.Scratch, name, s, top, bottom, left, right, width)
}
