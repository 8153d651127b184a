//go:build mpi && linux

package ccall

import "unsafe"

// asmcgocall runs fn(arg) on the stack that the thread has for the runtime.
//
//go:linkname asmcgocall runtime.asmcgocall
//go:noescape
func asmcgocall(fn, arg unsafe.Pointer) int32

// shim is the address of a C function that makes the call described by its argument.
var shim unsafe.Pointer

// Short makes the call and returns its result, an int.
func (c *Call) Short() int32 { return c.ShortUntil(1) }

// ShortUntil repeats the call, at most times times, until the function returns
// something other than 0 or has set Done, and returns the last result.
func (c *Call) ShortUntil(times int) int32 {
	c.times = int32(times)
	return asmcgocall(shim, unsafe.Pointer(c))
}
