package localjob

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/listen"
)

// Any user of the host may connect to the listener first. The two ends are connected to each
// other nevertheless.
func TestPairRefusesStrangers(t *testing.T) {
	l, err := listen.Local()
	require.NoError(t, err)
	stranger, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer stranger.Close()
	a, b, err := pairAt(l)
	require.NoError(t, err)
	defer a.Close()
	defer b.Close()
	_, err = stranger.Read(make([]byte, 1))
	require.Error(t, err, "a stranger was connected")
}
