package comm

import (
	"errors"

	"github.com/intrahpc/intra/transport/sdr"
)

// Errors, for errors.Is.
var (
	// ErrTruncate means that the message was longer than the buffer, which holds its
	// beginning.
	ErrTruncate = sdr.ErrTruncate
	// ErrJobEnded means that the job ended while the call waited.
	ErrJobEnded = sdr.ErrJobEnded
	// ErrFinished means that the call can never complete, because the programs of the ranks
	// that it waits for have returned.
	ErrFinished = sdr.ErrFinished
	// ErrMismatch means that ranks of a communicator have called different
	// collective operations, or one with different roots or lengths.
	ErrMismatch = sdr.ErrMismatch
	// ErrPending means that the program has not waited for a receive, a synchronous send or
	// a collective operation before a safe point.
	ErrPending = sdr.ErrPending
	// ErrRestored means that a restored process communicates before its first safe point.
	// Its peers have finished that communication before the safe point at which the process
	// begins.
	ErrRestored = errors.New("communication before the first safe point of a restored process: do it only if !p.Restored()")
	// ErrRank means that the communicator or group has no such rank.
	ErrRank = errors.New("invalid rank")
	// ErrTag means that a tag is not one of 0 to MaxTag.
	ErrTag = errors.New("invalid tag")
	// ErrType means that the elements contain pointers or have no size, or that a message
	// does not consist of whole elements.
	ErrType = errors.New("invalid element type")
	// ErrCount means that the lengths of the arguments do not match.
	ErrCount = errors.New("invalid count")
	// ErrOverlap means that a call would read and write the same memory, or write it
	// twice.
	ErrOverlap = errors.New("buffers overlap")
	// ErrFreed means that the communicator was freed, or is nil.
	ErrFreed = errors.New("communicator is freed")
	// ErrCancelled means that the receive was cancelled before a message matched it.
	ErrCancelled = errors.New("receive cancelled")
)
