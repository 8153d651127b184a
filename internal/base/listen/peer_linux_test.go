package listen

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// Each end of a connection finds the user of the other end.
func TestPeer(t *testing.T) {
	place := &net.UnixAddr{Name: fmt.Sprintf("@intra/test/%d", os.Getpid()), Net: "unix"}
	here := func(do func()) { do() }
	theirs := func(do func()) { needs.Stranger(t, do) }
	for _, c := range []struct {
		name         string
		serves, asks func(func())
		served, own  bool // results of each end about the other
	}{
		{"own", here, here, true, true},
		{"a stranger asks", here, theirs, false, true},
		{"a stranger serves", theirs, here, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l *net.UnixListener
			var asking *net.UnixConn
			var listened, dialled error
			c.serves(func() { l, listened = net.ListenUnix("unix", place) })
			require.NoError(t, listened)
			defer l.Close()
			c.asks(func() { asking, dialled = net.DialUnix("unix", nil, place) })
			require.NoError(t, dialled)
			defer asking.Close()
			serving, err := l.AcceptUnix()
			require.NoError(t, err)
			defer serving.Close()
			for end, own := range map[*net.UnixConn]bool{serving: c.served, asking: c.own} {
				err := Own(end)
				if own {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, ErrStranger)
				require.ErrorContains(t, err, fmt.Sprint(needs.StrangerID))
			}
			who, err := Peer(asking)
			require.NoError(t, err)
			require.EqualValues(t, os.Getpid(), who.Pid)
		})
	}
}
