//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/testkit/needs"
)

// onDisk runs intrarun with a separate disk, mounted at dir with these options. The script runs on
// the disk first. onDisk returns the exit code and the whole output.
func onDisk(t *testing.T, dir, options, script string, args ...string) (int, string) {
	line := append(needs.Mounts(t), "mount -t tmpfs -o "+options+" none "+dir+"; "+script, os.Args[0])
	line = append(line, args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// If a write fails because the disk is full, the error names the file, whatever its kind, and the
// job fails.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	fill := "dd if=/dev/zero of=" + dir + "/fill bs=4096 count=2 status=none; exec \"$0\" \"$@\""
	for _, c := range []struct{ name, script, flags, want string }{
		{"output", `exec "$0" "$@" > ` + file, "-r 2", "output of the job is lost: write /dev/stdout: no space left on device"},
		{"the report", fill, "-r 2 -report " + file, "intrarun: write the report: "},
		{"the timeline", fill, "-r 2 -trace " + file, "intrarun: write the trace: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(strings.Fields(c.flags), steps.Program("join", "lines:2000", "finish")...)
			code, out := onDisk(t, dir, "size=8k", c.script, args...)
			require.Equal(t, 1, code, out)
			require.Contains(t, out, c.want)
			require.Contains(t, out, "no space left on device")
		})
	}
}

// A command that cannot print its result fails, too, and names the reason.
func TestCommandsOnAFullDisk(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	require.Equal(t, 0, runJob(t, "-r 2 -report "+report, steps.Program("join", "finish")...).code)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, args := range [][]string{{"-version"}, {"report", report}, {"report", report, report}} {
		var said strings.Builder
		cmd := command(args...)
		cmd.Stdout, cmd.Stderr = full, &said
		require.Error(t, cmd.Run())
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), args)
		require.Contains(t, said.String(), "no space left on device")
	}
}

// late is a file on a network file system that reports only in Close that it has no room.
type late struct{ error }

func (l late) Close() error { return l.error }

func TestOutputLostAtClose(t *testing.T) {
	for _, c := range []struct {
		err        error
		code, want int
	}{{nil, 0, 0}, {nil, 3, 3}, {syscall.EDQUOT, 0, 1}, {syscall.EDQUOT, 3, 3}} {
		var said strings.Builder
		require.Equal(t, c.want, closeOutput(late{c.err}, &said, c.code))
		require.Equal(t, c.err != nil, strings.Contains(said.String(), "intrarun: output is lost: disk quota exceeded"))
	}
}

// If a limit on file sizes is exceeded, the error names it. The limit ends neither intrarun
// nor its processes.
func TestLimitOnFileSizes(t *testing.T) {
	dir := t.TempDir()
	limited := func(blocks, script string, args ...string) (int, string) {
		cmd := exec.Command("bash", append([]string{"-c", "ulimit -f " + blocks + "; " + script, os.Args[0]}, args...)...)
		cmd.Env = append(os.Environ(), environ...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			require.IsType(t, new(exec.ExitError), err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	code, out := limited("1", `exec "$0" "$@"`, append([]string{"-r", "2"}, steps.Program("join", "finish")...)...)
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "file too large: the limit on file sizes is 1024 bytes: raise it (ulimit -f)", "shared memory counts as a file, too")
	code, out = limited("64", `exec "$0" "$@" > `+filepath.Join(dir, "out"), append([]string{"-r", "2", "-link", "unix"}, steps.Program("join", "lines:20000", "finish")...)...)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "intrarun: standard output is lost from here on: write /dev/stdout: file too large: the limit on file sizes is 65536 bytes: raise it (ulimit -f)")
	state := filepath.Join(dir, "state")
	code, out = limited("64", `exec "$0" "$@"`, append([]string{"-r", "2", "-link", "unix", "-checkpoint", state}, program(asHeavy)...)...)
	require.Equal(t, 0, code, out)
	require.Regexp(t, "checkpoint set 1 is abandoned: .*the limit on file sizes is 65536 bytes", out)
	left, err := os.ReadDir(state)
	require.NoError(t, err)
	require.Empty(t, left)
}

// heavy is a program with more state than the limit allows for a file.
func heavy(p *intra.Process) error {
	x := make([]float64, 1<<15)
	intra.Protect(p, "x", &x)
	return stepThrough(p)
}

// The line with the cause of a failed job is printed even with -quiet, since it is not a
// warning.
func TestQuietJobPrintsItsFailure(t *testing.T) {
	r := runJob(t, "-r 2 -quiet", steps.Program("join", "kill:9")...)
	require.Equal(t, 3, r.code)
	require.Regexp(t, `\Aintrarun: rank 0 has lost its last replica [^\n]+\n\z`, r.stderr)
}
