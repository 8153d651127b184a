//go:build mpi && linux

package ccall

import "github.com/ebitengine/purego"

// Long makes the call and returns its result, an int. The function may take any time.
func (c *Call) Long() int32 {
	result, _, _ := purego.SyscallN(c.Function, c.Args[:]...)
	return int32(result)
}
