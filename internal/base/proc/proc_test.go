package proc

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestState(t *testing.T) {
	require.Equal(t, byte('T'), state([]byte("12 (a) b) (c) T 1 2 3")))
	require.Equal(t, byte('S'), state([]byte("12 (sh) S 1")))
	require.Zero(t, state([]byte("12 (sh)")))
	require.False(t, Stopped(os.Getpid()))
}
