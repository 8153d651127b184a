//go:build mpi && linux

package ccall

// MaxArgs is the maximum number of arguments of a call.
const MaxArgs = 7

// Call is a call of a C function. The Call, and everything that its arguments point to,
// must be in memory that does not move: part of a heap object, not a local variable.
type Call struct {
	Function uintptr          // address of the function
	Args     [MaxArgs]uintptr // the function ignores those beyond its own parameters

	Done  int32 // a function may set it to report that no further call is needed
	times int32
}
