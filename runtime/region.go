package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/replica/option"
	"github.com/intrahpc/intra/update"
)

// At sets the position of the section in the user's source, as folder/file:line.
func At(position string) intra.SectionOption { return option.At(position) }

// Part declares that r is cut from whole, which the task could access, too. Checked mode
// watches the rest of whole. Without checked mode Part does nothing.
func Part[T any](whole []T, r intra.Region) intra.Region { return update.Part(whole, r) }

// Window makes a region for a task that reads elements lo to hi of s. If there are no such
// elements, the region has an error, which ends the section.
func Window[T any](name string, s []T, lo, hi int) intra.Region {
	return update.Window(name, s, lo, hi)
}

// InBlock makes a region for a task that reads a block of a matrix. The block has the rows
// top..bottom and the columns left..right. The matrix is stored row by row in s, with width
// elements per row.
func InBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.In, name, s, top, bottom, left, right, width)
}

// OutBlock is like [intra.Out], for a block as in [InBlock].
func OutBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.Out, name, s, top, bottom, left, right, width)
}

// InOutBlock is like [intra.InOut], for a block as in [InBlock].
func InOutBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.InOut, name, s, top, bottom, left, right, width)
}

// ScratchBlock is like [intra.Scratch], for a block as in [InBlock].
func ScratchBlock[T any](name string, s []T, top, bottom, left, right, width int) intra.Region {
	return update.Block(update.Scratch, name, s, top, bottom, left, right, width)
}
