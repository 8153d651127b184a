package affinity

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestElsewhere(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := Usable()
	require.NoError(t, err)
	here := Processor()
	require.GreaterOrEqual(t, here, 0)
	there := -1
	Elsewhere(here, func() { there = Processor() })
	if len(machine()) > 1 && len(before) > 1 {
		require.NotEqual(t, here, there)
	}
	after, err := Usable()
	require.NoError(t, err)
	require.Equal(t, before, after)
	ran := false
	Elsewhere(-1, func() { ran = true })
	require.True(t, ran)
}
