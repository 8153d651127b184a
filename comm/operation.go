package comm

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/transport/sdr"
)

// operation is a kind of collective. Every message of a collective carries the operation in
// its purpose.
type operation int

const (
	noOperation operation = iota
	barrier
	bcast
	reduce
	allreduce
	gather
	gatherv
	allgather
	allgatherv
	scatter
	scatterv
	alltoall
	alltoallv
	scan
	exscan
	reduceScatter
	split
)

var operations = [...]struct{ call, name string }{
	noOperation: {"no collective", "no collective"},
	barrier:     {"Barrier", "barrier"}, bcast: {"Bcast", "broadcast"},
	reduce: {"Reduce", "reduce"}, allreduce: {"Allreduce", "allreduce"},
	gather: {"Gather", "gather"}, gatherv: {"Gatherv", "gatherv"},
	allgather: {"Allgather", "allgather"}, allgatherv: {"Allgatherv", "allgatherv"},
	scatter: {"Scatter", "scatter"}, scatterv: {"Scatterv", "scatterv"},
	alltoall: {"Alltoall", "alltoall"}, alltoallv: {"Alltoallv", "alltoallv"},
	scan: {"Scan", "scan"}, exscan: {"Exscan", "exscan"},
	reduceScatter: {"ReduceScatter", "reduce-scatter"}, split: {"Split", "split"},
}

// String returns the name of o for errors.
func (o operation) String() string { return operations[o].name }

// call returns the name of the function.
func (o operation) call() string { return operations[o].call }

// rooted reports whether one of the ranks has a special role.
func (o operation) rooted() bool {
	switch o {
	case bcast, reduce, gather, gatherv, scatter, scatterv:
		return true
	}
	return false
}

// sync returns what the end of a collective on c implies at this rank. It implies something
// only on the first communicator of a clock domain, and only if this communicator has all ranks of
// the job. The reason is that on two communicators ranks may begin non-blocking collectives in
// different orders.
func (c *Comm) sync(o operation, root int) sdr.Sync {
	if c.id != c.domain || len(c.members) != c.engine.Size() {
		return sdr.SyncNone
	}
	switch o {
	case barrier, allreduce, allgather, allgatherv, alltoall, alltoallv, reduceScatter, split:
		return sdr.SyncAll
	case reduce, gather, gatherv:
		if c.rank == root {
			return sdr.SyncHere
		}
		return sdr.SyncElsewhere
	}
	return sdr.SyncNone
}

// The purpose of a message identifies the collective to which it belongs. Its lowest bits
// are the operation, the bits above them the root, and the bits above those the length in
// bytes on which all ranks have to agree, or 0.
const (
	rootBit, rootBits     = 5, 21
	lengthBit, lengthBits = rootBit + rootBits, 62 - rootBit - rootBits
)

func purpose(o operation, root, bytes int) int {
	return int(o) | root&(1<<rootBits-1)<<rootBit | bytes&(1<<lengthBits-1)<<lengthBit
}

// describe returns a purpose as text for an error.
func describe(purpose int) string {
	o := operation(purpose & (1<<rootBit - 1))
	if int(o) >= len(operations) {
		o = noOperation
	}
	text := o.call()
	if n := purpose >> lengthBit; n > 0 {
		text += fmt.Sprintf(" of %d bytes", n)
	}
	if o.rooted() {
		text += fmt.Sprintf(" with root %d", purpose>>rootBit&(1<<rootBits-1))
	}
	return text
}

// failed adds context to the error of a call. Normally the context is prefix. If the call can
// never complete, or the collectives do not match, the context describes the calls, and contains
// the place of this call in the program.
func (c *Comm) failed(call, prefix string, err error) error {
	var finished *sdr.FinishedError
	var mismatch *sdr.Mismatch
	switch {
	case errors.As(err, &finished) && finished.For == sdr.Any:
		return fmt.Errorf("rank %d waits in %s for any other rank, and all have finished (%s)%w", finished.Rank, call, userCode(), quiet{err})
	case errors.As(err, &finished):
		return fmt.Errorf("rank %d waits in %s for rank %d, which has finished (%s)%w", finished.Rank, call, finished.For, userCode(), quiet{err})
	case errors.As(err, &mismatch):
		p, q := mismatch.Source, c.engine.Rank()
		theirs, mine := describe(mismatch.Theirs), describe(mismatch.Mine)
		if p > q { // sorted, so that all ranks print the same text
			p, q, theirs, mine = q, p, mine, theirs
		}
		return fmt.Errorf("collectives do not match: rank %d has called %s, rank %d %s (%s)%w", p, theirs, q, mine, userCode(), quiet{err})
	}
	return fmt.Errorf("%s: %w", prefix, err)
}

// quiet is an error that errors.Is finds, but whose text is empty because the text around
// it is complete.
type quiet struct{ error }

// Error implements error.
func (quiet) Error() string { return "" }

// Unwrap implements errors.
func (q quiet) Unwrap() error { return q.error }

const thisPackage = "github.com/intrahpc/intra/comm."

// userCode returns the place from which this package was called.
func userCode() string { return callsite.Outside(thisPackage) }
