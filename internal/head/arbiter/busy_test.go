package arbiter

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// spin keeps a processor busy until its process is killed.
func spin() {
	for i := 0; ; i++ {
		if i < 0 {
			return
		}
	}
}

// TestBusyMachine runs nodes for INTRA_BUSY seconds on a machine with four times as much work
// as it can do. No node is declared lost or loses the lead.
func TestBusyMachine(t *testing.T) {
	seconds := simseed.Environment(t, "INTRA_BUSY", 0)
	if seconds == 0 {
		t.Skip("this keeps the whole machine busy: INTRA_BUSY=SECONDS runs it")
	}
	nodes := startProcesses(t, 5)
	for range 4 * runtime.NumCPU() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "INTRA_TEST_SPIN=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	for i, n := range nodes {
		for _, what := range []string{"verdict", "fence", string(decision.Lost)} {
			l, found := n.find(what, any1)
			require.False(t, found, "node %d: %+v", i+1, l)
		}
		_, leads := n.find("lead", any1)
		require.Equal(t, i == 0, leads, "node %d", i+1)
	}
	require.NoError(t, nodes[4].cmd.Process.Kill())
	at := time.Now()
	nodes[0].wait(t, "verdict", func(l outputLine) bool { return l.Process.Rank == 5 })
	t.Logf("a node that was killed then was found lost after %v", time.Since(at))
}
