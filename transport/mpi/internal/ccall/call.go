//go:build mpi && linux

package ccall

// MaxArgs is the maximum number of arguments of a call.
const MaxArgs = 7

// Call is a call of a C function. It must be in memory that does not move, as
// must all that its arguments point to: part of an allocated object, not a
// variable of the caller.
type Call struct {
	Function uintptr          // its address
	Args     [MaxArgs]uintptr // the function ignores those beyond its own parameters

	Done  int32 // a function may set it to report that no further call is needed
	times int32
}
