//go:build system && linux

package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// Jobs over a native MPI library are measured under the launcher of that library.
func TestMessagesOverMPI(t *testing.T) {
	needs.Tool(t, "mpirun.openmpi", "openmpi-bin")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	dir := t.TempDir()
	bench := filepath.Join(dir, "intrabench")
	require.NoError(t, goBuild(t.Context(), bench, "-tags=mpi", "."))
	require.NoError(t, goBuild(t.Context(), filepath.Join(dir, "intrarun"), "../intrarun"))
	measure := func(args ...string) (string, error) {
		args = append([]string{"-quiet", "-rounds", "1", "-time", "100us", "-degrees", "1,1", "-link", "mpi"}, args...)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, bench, append([]string{"pingpong", "-max", "65536"}, args...)...)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // mpirun ends the job on this signal
		cmd.WaitDelay = 10 * time.Second
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := measure("-mpirun", "mpirun.openmpi --oversubscribe -np")
	require.NoError(t, err, out)
	require.Regexp(t, `(?m)^ +mpi +1,1 µs`, out)
	out, err = measure("-mpirun", " ")
	require.Error(t, err)
	require.Contains(t, out, "-mpirun is empty")
}
