//go:build linux

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/testkit/needs"
)

// A host may have only IPv6, or no loopback interface. Jobs use the available addresses, and
// end at once if there is none.
func TestHostsWithoutIPv4(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	needs.Tool(t, "ip", "iproute2")
	for _, host := range []struct {
		name, setUp string
		works       bool
	}{
		{"IPv6 only", "ip link set lo up; ip addr del 127.0.0.1/8 dev lo", true},
		{"no loopback", ":", false},
	} {
		for flags, needed := range map[string]bool{"": false, "-link tcp": true, "-hosts localhost:2": true, "-hosts localhost:2 -link tcp": true, "-http :0": true} {
			t.Run(host.name+" "+flags, func(t *testing.T) {
				self := command(append(strings.Fields("-n 1 -r 2 "+flags), steps.Program("join", "out:x", "finish")...)...)
				cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", host.setUp + `; exec "$0" "$@"`}, self.Args...)...)
				cmd.Env, cmd.Dir = self.Environ(), t.TempDir()
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
				var out, stderr strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &stderr
				_ = cmd.Run() // its exit code is the result
				if needed && !host.works {
					require.Equal(t, 2, cmd.ProcessState.ExitCode(), stderr.String())
					require.Contains(t, stderr.String(), "this host does not reach itself: want the network interface lo up")
					require.Empty(t, out.String())
					return
				}
				require.Zero(t, cmd.ProcessState.ExitCode(), stderr.String())
				require.Equal(t, "x\n", out.String())
			})
		}
	}
}
