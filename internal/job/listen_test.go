package job

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListenOn(t *testing.T) {
	for _, c := range []struct{ place, address string }{
		{"127.0.0.1:0", "127.0.0.1"},
		{"[::1]:0", "::1"},
		{"lo:0", "127.0.0.1"},
		{"127.0.0.0/8:0", "127.0.0.1"},
		{"[::1/128]:0", "::1"},
		{"localhost:0", ""},
	} {
		t.Run(c.place, func(t *testing.T) {
			l, err := listenOn(c.place)
			if err != nil && c.address == "::1" {
				t.Skipf("this machine has no IPv6: %v", err)
			}
			require.NoError(t, err)
			defer l.Close()
			host, _, err := net.SplitHostPort(l.Addr().String())
			require.NoError(t, err)
			if c.address != "" {
				require.Equal(t, c.address, host)
			}
		})
	}
	for _, c := range []struct{ place, want string }{
		{"240.0.0.0/4:0", "no address of this host is in 240.0.0.0/4"},
		{"nonsense", "missing port"},
		{"240.0.0.1:0", "cannot assign requested address"},
	} {
		_, err := listenOn(c.place)
		require.ErrorContains(t, err, c.want, c.place)
	}
}
