package listen

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// asked, in the environment, makes the test binary print its loopback address.
const asked = "LISTEN_LOOPBACK"

func TestMain(m *testing.M) {
	if os.Getenv(asked) != "" {
		fmt.Print(Loopback())
		if l, err := net.Listen(Everywhere("tcp"), ":0"); err == nil {
			local, _ := Loopback()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			fmt.Print(" everywhere: ", Reachable(net.JoinHostPort(local, port)))
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A host may lack 127.0.0.1, or have no loopback address at all.
func TestLoopback(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	needs.Tool(t, "ip", "iproute2")
	for _, c := range []struct{ name, setUp, want string }{
		{"both", "ip link set lo up", "127.0.0.1<nil> everywhere: <nil>"},
		{"IPv6 only", "ip link set lo up; ip addr del 127.0.0.1/8 dev lo", "::1<nil> everywhere: <nil>"},
		{"IPv4 only", "ip link set lo up; ip addr del ::1/128 dev lo", "127.0.0.1<nil> everywhere: <nil>"},
		{"lo is down", ":", "this host does not reach itself: want the network interface lo up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", c.setUp+`; exec "$0"`, os.Args[0])
			cmd.Env = append(os.Environ(), asked+"=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), c.want)
		})
	}
}
