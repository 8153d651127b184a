//go:build system

package systemtest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// Processes that share the cores of their host record on which processor each one runs, as
// long as they live.
func TestProcessesRecordTheirProcessors(t *testing.T) {
	cores, err := affinity.Allowed()
	require.NoError(t, err)
	if len(cores) < 2 {
		t.Skip("one core: nowhere to move to")
	}
	j, wait := start(t, fmt.Sprintf("-n %d -r 2", len(cores)), append([]string{binaries.Program(t, "examples/minighost")}, strings.Fields("-nx 8 -ny 8 -nz 8 -steps 1000000000 -json")...)...)
	n := 2 * len(cores)
	pids := awaitRanks(t, j, n)
	board := boardOf(t, j.PID())
	says := func(want int) {
		t.Helper()
		var words []byte
		require.Eventually(t, func() bool {
			words, err = os.ReadFile(board)
			require.NoError(t, err)
			there := 0
			for i := 4; i < len(words); i += 4 { // the words after the number of slots
				if w := binary.NativeEndian.Uint32(words[i:]); w > 0 {
					require.Contains(t, cores, int(w)-1)
					there++
				}
			}
			return there == want
		}, jobtest.Deadline, 5*time.Millisecond, "%d processes want to be on the board", want)
		require.EqualValues(t, n, binary.NativeEndian.Uint32(words))
	}
	says(n)
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	says(n - 1)
	require.NoError(t, syscall.Kill(j.PID(), syscall.SIGTERM))
	require.Equal(t, 143, wait().code)
}

// boardOf finds the board of the processes that intrarun has started.
func boardOf(t *testing.T, pid int) string {
	t.Helper()
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, path := range all {
		if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, "/memfd:intra-board") {
			return path
		}
	}
	require.FailNow(t, "intrarun has no board")
	return ""
}
