//go:build mpi && linux

package ccall

// MaxArgs is how many arguments a call has at most.
const MaxArgs = 7

// Call is a call of a C function. It has to be in memory that does not move, as all
// that its arguments point to has: part of something that was allocated, not a
// variable of the caller.
type Call struct {
	Function uintptr          // its address
	Args     [MaxArgs]uintptr // more than the function takes do no harm

	// ShortUntil looks here. It is in the call, which C can reach.
	Done  int32 // written by the function: not 0 when there is no need to call again
	times int32
}
