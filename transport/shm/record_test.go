//go:build linux

package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/shm"
)

// The record of a longer frame is at least as long.
func TestRecordGrows(t *testing.T) {
	for _, size := range []int{4 << 10, 256 << 10, shm.DefaultSize} {
		last := uint64(0)
		for payload := range uint64(40 << 10) {
			n := shm.Record(size, payload)
			require.GreaterOrEqual(t, n, last, "%d bytes in a ring of %d", payload, size)
			require.GreaterOrEqual(t, n, transport.HeaderSize+payload)
			require.Zero(t, n%transport.HeaderSize)
			last = n
		}
	}
}
