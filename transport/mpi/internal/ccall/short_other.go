//go:build mpi && linux && !amd64

package ccall

import "sync/atomic"

// Short makes the call and returns its result, an int.
func (c *Call) Short() int32 { return c.Long() }

// ShortUntil repeats the call, at most times times, until the function returns
// something other than 0 or has set Done, and returns the last result.
func (c *Call) ShortUntil(times int) int32 {
	result := c.Long()
	for ; times > 1 && result == 0 && atomic.LoadInt32(&c.Done) == 0; times-- {
		result = c.Long()
	}
	return result
}
