//go:build mpi && linux && !amd64

package ccall

// Short makes the call and returns its result, an int.
func (c *Call) Short() int32 { return c.Long() }
