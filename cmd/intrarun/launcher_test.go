//go:build linux

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/testkit/needs"
)

// launched runs intrarun in the processes of a launcher. The command wrapper precedes
// intrarun.
func launched(t *testing.T, launcher []string, processes int, wrapper, args []string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	self := command(args...)
	all := append(append(append(launcher[:len(launcher):len(launcher)], strconv.Itoa(processes)), wrapper...), self.Args...)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = append(self.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	cmd.Dir, cmd.WaitDelay = t.TempDir(), time.Second
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run() // its exit code is the result
	require.NoError(t, ctx.Err(), err.String())
	left, readErr := os.ReadDir(cmd.Dir)
	require.NoError(t, readErr)
	require.Empty(t, left, "files that the processes met through")
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

// The processes of a launcher determine the hosts of the job. The first process on each
// host is its agent.
func TestUnderLauncher(t *testing.T) {
	for _, l := range []struct {
		name     string
		command  []string
		survives []string // the launcher's command if it outlives the loss of a host
		rank     string   // name of the variable with the rank
	}{
		{"Open MPI", []string{"mpirun.openmpi", "--oversubscribe", "-np"}, []string{"mpirun.openmpi", "--oversubscribe", "--enable-recovery", "-np"}, "OMPI_COMM_WORLD_RANK"},
		{"MPICH", []string{"mpiexec.hydra", "-n"}, nil, "PMI_RANK"},
	} {
		t.Run(l.name, func(t *testing.T) {
			if _, err := exec.LookPath(l.command[0]); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("%s is not installed", l.command[0])
				}
				t.Skipf("%s is not installed", l.command[0])
			}
			job := func(flags string, program ...string) (int, string, string) {
				return launched(t, l.command, 4, nil, append(strings.Fields(flags), steps.Program(program...)...))
			}
			code, out, stderr := job("-n 2 -r 2", "join:any", "0.1@kill:9", "out:x", "finish")
			require.Zero(t, code, stderr)
			require.Equal(t, "x\nx\n", out)
			require.Contains(t, stderr, "0.1 is dead")
			code, _, stderr = job("-n 2 -r 2", "join", "fail:error:bad luck")
			require.Equal(t, 1, code, stderr)
			code, _, stderr = job("-hosts a,b -n 2", "join", "finish")
			require.Equal(t, 2, code)
			require.Equal(t, 1, strings.Count(stderr, "has started 4 processes, and the job runs where they are: leave out -hosts and -hostfile"), stderr)
			if os.Getuid() != 0 {
				return
			}
			// Processes 0 and 1 are on one host, and 2 and 3 on another. The hosts differ by
			// name only.
			hosts := []string{"unshare", "--uts", "sh", "-c", `hostname h$(($` + l.rank + `/2)); exec "$0" "$@"`}
			code, out, stderr = launched(t, l.command, 4, hosts, append([]string{"-n", "2", "-r", "2", "-dry-run"}, steps.Program("join", "finish")...))
			require.Zero(t, code, stderr)
			require.Contains(t, out, "h0")
			require.Contains(t, out, "h1")
			require.NotContains(t, stderr, "share a host")
			require.Equal(t, 1, strings.Count(stderr, "ends the job when a host is lost"), stderr)
			code, out, stderr = launched(t, l.command, 4, hosts, append([]string{"-n", "2", "-r", "2"}, steps.Program("join:any", "1.0@kill:9", "out:x", "finish")...))
			require.Zero(t, code, stderr)
			require.Equal(t, "x\nx\n", out)
			if l.survives == nil {
				return
			}
			// Process 2 is the agent of h1. It is killed with its processes 3 s after their
			// start.
			begun := filepath.Join(t.TempDir(), "begun")
			lost := []string{"unshare", "--uts", "sh", "-c", `hostname h$(($` + l.rank + `/2))
				[ $` + l.rank + ` = 2 ] && (until [ -e ` + begun + ` ]; do sleep 0.1; done; sleep 3; kill -9 $$) & exec "$0" "$@"`}
			program := append([]string{"/bin/sh", "-c", `touch ` + begun + `; exec "$0" "$@"`}, steps.Program("join", "sleep:6s", "out:x", "finish")...)
			code, out, stderr = launched(t, l.survives, 4, lost, append([]string{"-n", "2", "-r", "2"}, program...))
			require.Zero(t, code, stderr)
			require.Equal(t, "x\nx\n", out)
			require.Contains(t, stderr, "0.1 is dead (host: host h1 has not been heard from")
			require.NotContains(t, stderr, "ends the job when a host is lost")
		})
	}
}

// Processes that a job's program starts inherit a launcher's variables. An intrarun among them
// detects that, and leaves nothing behind.
func TestLeftoverLauncherVariables(t *testing.T) {
	// Process 0 starts intrarun, and process 1 another program.
	once := []string{"sh", "-c", `case ${OMPI_COMM_WORLD_RANK-$PMI_RANK} in 0) "$0" "$@"; exit $?;; *) sleep 1000;; esac`}
	for _, l := range []struct {
		name     string
		command  []string
		variable string
	}{
		{"mpirun", []string{"mpirun.openmpi", "--oversubscribe", "-np"}, "OMPI_COMM_WORLD_SIZE=2"},
		{"mpiexec", []string{"mpiexec.hydra", "-n"}, "PMI_SIZE=2"},
	} {
		t.Run(l.name, func(t *testing.T) {
			needs.Tool(t, l.command[0], map[string]string{"mpirun": "openmpi-bin", "mpiexec": "mpich"}[l.name])
			code, out, stderr := launched(t, l.command, 2, once, append([]string{"-n", "1", "-r", "2"}, steps.Program("join", "out:x", "finish")...))
			require.NotZero(t, code, stderr)
			require.NotContains(t, "\n"+out, "\nx\n") // mpiexec writes about the failure there
			require.Contains(t, stderr, l.variable+" are those of "+l.name+", but none of the other 1 processes that it has started on this host runs intrarun")
			require.Contains(t, stderr, "give -alone")
			// mpirun ends the other process once the first has failed.
			once := append(once[:2:2], strings.Replace(once[2], "sleep 1000", "sleep 1", 1))
			code, out, stderr = launched(t, l.command, 2, once, append([]string{"-alone", "-n", "1", "-r", "2"}, steps.Program("join", "out:x", "finish")...))
			require.Zero(t, code, stderr)
			require.Equal(t, "x\n", out)
			require.NotContains(t, stderr, l.variable)
		})
	}
	t.Run("shell at a terminal", func(t *testing.T) {
		needs.Tool(t, "script", "bsdutils")
		needs.Tool(t, "bash", "bash")
		self := command(append([]string{"-n", "1", "-r", "2"}, steps.Program("join", "out:x", "finish")...)...)
		quoted := ""
		for _, a := range self.Args {
			quoted += " '" + a + "'"
		}
		cmd := exec.CommandContext(t.Context(), "script", "-qec", "bash -i", "/dev/null")
		// script starts the command through a shell, which may stay as a process above it.
		cmd.Env = append(self.Environ(), "SHELL=/bin/sh", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=0")
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(quoted+" </dev/null\nexit $?\n") // the job would read the second line
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "OMPI_COMM_WORLD_RANK=0 and OMPI_COMM_WORLD_SIZE=4 are those of mpirun, which has not started intrarun: bash (process ")
		left, err := os.ReadDir(cmd.Dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	t.Run("interrupted", func(t *testing.T) {
		self := command(append([]string{"-alone=false", "-n", "1", "-r", "2"}, steps.Program("join", "finish")...)...)
		self.Env = append(self.Environ(), "SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=0")
		self.Dir = t.TempDir()
		var stderr strings.Builder
		self.Stderr = &stderr
		require.NoError(t, self.Start())
		require.Eventually(t, func() bool {
			left, _ := os.ReadDir(self.Dir)
			return len(left) > 0
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, self.Process.Signal(os.Interrupt))
		require.Error(t, self.Wait())
		require.Equal(t, 130, self.ProcessState.ExitCode(), stderr.String())
		require.Contains(t, stderr.String(), "interrupted while waiting for the other processes of srun")
		left, err := os.ReadDir(self.Dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// Under Slurm and Kubernetes SIGTERM is a notice, unless the user wants otherwise.
func TestSignalIsANoticeUnderAManager(t *testing.T) {
	for _, variable := range []string{"SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST"} {
		t.Setenv(variable, "")
	}
	drains := func(flags ...string) bool {
		c, err := parse(append(flags, "program"), io.Discard)
		require.NoError(t, err)
		return c.Drain
	}
	require.False(t, drains())
	require.True(t, drains("-drain"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	require.True(t, drains())
	require.False(t, drains("-drain=false"))
	require.True(t, managed(func(name string) string { return map[string]string{"SLURM_JOB_ID": "1"}[name] }))
}
