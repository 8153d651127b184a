package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/update"
)

// At gives the position of the section in the source that the user wrote, as
// file:line.
func At(position string) intra.SectionOption { return bridge.At(position).(intra.SectionOption) }

// Part says that r is cut from whole, which the task could reach too. Checked
// mode watches the rest of whole. Without it Part does nothing.
func Part[T any](whole []T, r intra.Region) intra.Region { return update.Part(whole, r) }

// InBlock names the rows top..bottom and the columns left..right of a matrix
// that lies in s row by row, width elements each, for a task that reads them.
func InBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.In, name, s, top, bottom, left, right, width)
}

// OutBlock is [intra.Out] for a block of rows and columns, as of [InBlock].
func OutBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.Out, name, s, top, bottom, left, right, width)
}

// InOutBlock is [intra.InOut] for a block of rows and columns, as of [InBlock].
func InOutBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.InOut, name, s, top, bottom, left, right, width)
}

// ScratchBlock is [intra.Scratch] for a block of rows and columns, as of [InBlock].
func ScratchBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.Scratch, name, s, top, bottom, left, right, width)
}
