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

	Done  int32 // where a function may say that it need not be called again
	times int32
}
