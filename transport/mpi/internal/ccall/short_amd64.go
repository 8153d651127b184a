//go:build mpi && linux

package ccall

import "unsafe"

// asmcgocall runs fn(arg) on the stack that the thread has for the runtime.
//
//go:linkname asmcgocall runtime.asmcgocall
//go:noescape
func asmcgocall(fn, arg unsafe.Pointer) int32

// shim and repeat are the addresses of C functions that make the call they are given.
var shim, repeat unsafe.Pointer

// Short makes the call and returns its result, an int.
func (c *Call) Short() int32 { return asmcgocall(shim, unsafe.Pointer(c)) }

// ShortUntil makes the call again and again, so many times at most, until the function
// returns something other than 0 or has written Done, and returns the last result. The
// function takes up to six arguments.
func (c *Call) ShortUntil(times int) int32 {
	c.times = int32(times)
	return asmcgocall(repeat, unsafe.Pointer(c))
}
