package job

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/affinity"
)

// If there is a board on its host, a process has a slot on it, in addition to the other
// descriptors that it inherits.
func TestSessionHasASlot(t *testing.T) {
	board, err := affinity.NewBoard()
	require.NoError(t, err)
	defer board.Close()
	setup := Setup{Incarnation: 1, Degrees: []int{1}}
	h := newHead(t, NewSecret())
	require.Nil(t, h.admit(t, setup).Slot())
	h = newHead(t, NewSecret())
	h.in.Board, h.in.Slot = board.File(), 12
	require.Equal(t, []string{EnvSlot + "=6,12", EnvControl + "=3,4,5", EnvProcess + "=2.1", EnvLocal + "=0"}, h.in.Environ(Process{Rank: 2, Replica: 1}))
	require.NotNil(t, h.admit(t, setup).Slot())
	h = newHead(t, NewSecret())
	h.in.Board, h.in.Slot = h.in.Secret, 12
	_, err = newSession(t.Context(), h.in, Hello{})
	require.ErrorContains(t, err, "open the board of processes")
}

// A process checks the variables of the launcher, and removes them from its environment.
func TestSlotInTheEnvironment(t *testing.T) {
	for _, v := range []string{"3", "3,x", ",1", "x,1", "903,1", "0,1"} {
		t.Setenv(EnvControl, "900,901,902")
		t.Setenv(EnvLocal, "1")
		t.Setenv(EnvSlot, v)
		_, err := Join(t.Context(), Hello{})
		require.ErrorContains(t, err, "join the job", v)
		_, set := os.LookupEnv(EnvSlot)
		require.False(t, set, "child processes must not inherit it")
	}
}
