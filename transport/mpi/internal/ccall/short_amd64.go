//go:build mpi && linux

package ccall

import "unsafe"

// asmcgocall runs fn(arg) on the stack that the thread has for the runtime.
//
//go:linkname asmcgocall runtime.asmcgocall
//go:noescape
func asmcgocall(fn, arg unsafe.Pointer) int32

// shim is the address of a C function that makes the call it is given.
var shim unsafe.Pointer

// Short makes the call and returns its result, an int.
func (c *Call) Short() int32 { return asmcgocall(shim, unsafe.Pointer(c)) }
