package comm

import (
	"errors"

	"github.com/intrahpc/intra/transport/sdr"
)

// Errors, for errors.Is.
var (
	// ErrTruncate means that the message was longer than the memory for it,
	// which holds its beginning.
	ErrTruncate = sdr.ErrTruncate
	// ErrJobEnded means that the job ended while the call waited.
	ErrJobEnded = sdr.ErrJobEnded
	// ErrFinished means that what the call waits for never comes, since the
	// programs of the ranks have returned that it concerns.
	ErrFinished = sdr.ErrFinished
	// ErrMismatch means that ranks of a communicator have called different
	// collective operations, or one with different roots or lengths.
	ErrMismatch = sdr.ErrMismatch
	// ErrPending means that at a safe point a receive, a synchronous send or a
	// collective operation has not been waited for.
	ErrPending = sdr.ErrPending
	// ErrRestored means that a restored process communicates before its first
	// safe point, although the others have done so long ago.
	ErrRestored = errors.New("communication before the first safe point of a restored process: do it only if !p.Restored()")
	// ErrRank means that there is no such rank in the communicator or group.
	ErrRank = errors.New("invalid rank")
	// ErrTag means that a tag is not one of 0 to MaxTag.
	ErrTag = errors.New("invalid tag")
	// ErrType means that the elements hold pointers or have no size, or a
	// message does not consist of whole elements.
	ErrType = errors.New("invalid element type")
	// ErrCount means that the lengths of the arguments do not match.
	ErrCount = errors.New("invalid count")
	// ErrOverlap means that a call would read and write the same memory, or write it
	// twice.
	ErrOverlap = errors.New("buffers overlap")
	// ErrFreed means that the communicator was freed, or is nil.
	ErrFreed = errors.New("communicator is freed")
	// ErrCancelled means that the receive was cancelled before a message came.
	ErrCancelled = errors.New("receive cancelled")
)
