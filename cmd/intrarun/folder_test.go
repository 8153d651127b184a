//go:build linux

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// Two jobs with one folder would remove each other's sets, so the second job is refused. Once
// the first job is dead, for whatever reason, another job gets the folder.
func TestTwoJobsWithOneFolder(t *testing.T) {
	dir := t.TempDir()
	state, mark := filepath.Join(dir, "state"), filepath.Join(dir, "mark")
	first, wait := start(t, "-r 2 -checkpoint "+state, steps.Program("join", "mark:"+mark, "forever")...)
	steps.PIDs(t, mark, 2)
	r := runJob(t, "-r 2 -checkpoint "+state, program(asStepper)...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "intrarun: -checkpoint "+state+`: the job "`)
	require.Contains(t, r.stderr, "mark:"+mark)
	require.Contains(t, r.stderr, "two jobs with one folder would remove each other's checkpoints")
	require.NoError(t, syscall.Kill(first.PID(), syscall.SIGKILL))
	wait()
	r = runJob(t, "-r 2 -checkpoint "+state, program(asStepper)...)
	require.Equal(t, 0, r.code, r.stderr)
	require.NoFileExists(t, filepath.Join(state, "lock"))
	sets, err := filepath.Glob(filepath.Join(state, "set-*", "index"))
	require.NoError(t, err)
	require.NotEmpty(t, sets) // the last set may have been incomplete when the program returned
}

// If a folder cannot be written, the job is refused before anything is started.
func TestFolderThatCannotBeWritten(t *testing.T) {
	for name, options := range map[string]string{"read-only file system": "ro", "no space left on device": "size=4k"} {
		dir := t.TempDir()
		script := `exec "$0" "$@"`
		if options != "ro" {
			script = "dd if=/dev/zero of=" + dir + "/fill bs=4096 count=1 status=none; " + script
		}
		for _, state := range []string{dir, filepath.Join(dir, "state")} {
			if options != "ro" && state != dir {
				continue // on this file system, a folder takes no block
			}
			code, out := onDisk(t, dir, options, script, append([]string{"-r", "2", "-checkpoint", state}, steps.Program("join", "out:it runs", "finish")...)...)
			require.Equal(t, 2, code, out)
			require.Contains(t, out, "intrarun: -checkpoint "+state+": ")
			require.Contains(t, out, name)
			require.NotContains(t, out, "it runs")
		}
	}
}

// If there is no room for a set, the set is abandoned and leaves no files. The job continues.
func TestFolderWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(t.TempDir(), "list")
	// The lock file takes the last block.
	code, out := onDisk(t, dir, "size=8k", "dd if=/dev/zero of="+dir+`/fill bs=4096 count=1 status=none; "$0" "$@"; code=$?; ls -A `+dir+" > "+list+"; exit $code",
		append([]string{"-r", "2", "-checkpoint", dir}, program(asStepper)...)...)
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "warning: checkpoint set 1 is abandoned: write the checkpoint of rank 0 at safe point ")
	require.Contains(t, out, "no space left on device")
	b, err := os.ReadFile(list)
	require.NoError(t, err)
	require.Equal(t, "fill\n", string(b))
}
