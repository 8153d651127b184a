//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// rings finds the shared-memory rings of a process. It returns paths to the descriptors.
func rings(t *testing.T, pid int) (all []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, "/memfd:") {
			all = append(all, path)
		}
	}
	return all
}

// A process of another user can neither open nor see the rings.
func TestRingsAreClosedToOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can play another user")
	}
	const nobody = 65534
	marks := filepath.Join(t.TempDir(), "pids")
	job, wait := start(t, "-r 2 -link shm", steps.Program("join", "mark:"+marks, "forever")...)
	open := func(path string, user uint32) error {
		shell := exec.Command("sh", "-c", `: <"$1" && : <>"$1"`, "sh", path)
		shell.Dir = "/"
		shell.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := shell.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	found := 0
	for _, pid := range steps.PIDs(t, marks, 2) {
		for _, path := range append(rings(t, pid), maps(t, pid)...) {
			if open(path, 0) != nil { // in some containers even root may not open it
				continue
			}
			found++
			require.ErrorContains(t, open(path, nobody), "Permission denied", path)
		}
	}
	require.Positive(t, found, "root could open no ring")
	require.NoError(t, syscall.Kill(job.PID(), syscall.SIGTERM))
	require.Equal(t, 143, wait().code)
}

// maps finds the mappings of rings. These remain when the descriptors are closed.
func maps(t *testing.T, pid int) (all []string) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[5], "/memfd:") {
			continue
		}
		all = append(all, fmt.Sprintf("/proc/%d/map_files/%s", pid, f[0]))
	}
	return all
}
