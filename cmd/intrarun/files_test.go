//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/timeline/traceformat"
)

// writes runs a job with -report or -trace. It returns the exit code and the output.
func writes(t *testing.T, umask int, flag, name string, fds ...*os.File) (code int, out string) {
	t.Helper()
	cmd := command(append([]string{flag, name}, steps.Program("join", "out:it runs", "finish")...)...)
	if umask >= 0 {
		cmd.Args = append([]string{"sh", "-c", `umask "$1"; shift; exec "$@"`, "sh", fmt.Sprintf("%03o", umask)}, cmd.Args...)
		sh, err := exec.LookPath("sh")
		require.NoError(t, err)
		cmd.Path = sh
	}
	cmd.ExtraFiles = fds
	b, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// holds checks that a file contains the text that a flag writes.
func holds(t *testing.T, flag string, text []byte) {
	t.Helper()
	if flag == "-trace" {
		_, err := traceformat.Check(text)
		require.NoError(t, err, "%s", text)
		return
	}
	var report map[string]any
	require.NoError(t, json.Unmarshal(text, &report), "%s", text)
	require.EqualValues(t, 0, report["exit_code"])
}

// A report or a timeline replaces only a regular file. It follows symbolic links. Any other
// kind of file under its name remains.
func TestOnlyRegularFilesAreReplaced(t *testing.T) {
	for _, flag := range []string{"-report", "-trace"} {
		t.Run(flag[1:], func(t *testing.T) {
			read := func(name string) []byte {
				b, err := os.ReadFile(name)
				require.NoError(t, err)
				return b
			}
			run := func(t *testing.T, name string) {
				code, out := writes(t, -1, flag, name)
				require.Equal(t, 0, code, out)
			}
			kind := func(name string) fs.FileMode {
				st, err := os.Lstat(name)
				require.NoError(t, err)
				return st.Mode().Type()
			}
			t.Run("a regular file", func(t *testing.T) {
				name := filepath.Join(t.TempDir(), "f")
				require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
				run(t, name)
				holds(t, flag, read(name))
			})
			t.Run("a link", func(t *testing.T) {
				dir := t.TempDir()
				target, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
				require.NoError(t, os.WriteFile(target, []byte("old"), 0o600))
				require.NoError(t, os.Symlink("f", link))
				run(t, link)
				require.Equal(t, fs.ModeSymlink, kind(link))
				require.Zero(t, kind(target))
				holds(t, flag, read(target))
			})
			t.Run("a link to nothing", func(t *testing.T) {
				dir := t.TempDir()
				link := filepath.Join(dir, "link")
				require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
				require.NoError(t, os.Symlink("sub/f", link))
				run(t, link)
				require.Equal(t, fs.ModeSymlink, kind(link))
				holds(t, flag, read(filepath.Join(dir, "sub", "f")))
			})
			t.Run("a named pipe", func(t *testing.T) {
				pipe := filepath.Join(t.TempDir(), "pipe")
				require.NoError(t, unix.Mkfifo(pipe, 0o600))
				got := make(chan []byte, 1)
				go func() {
					b, _ := os.ReadFile(pipe) // the reader reads to the end
					got <- b
				}()
				require.Eventually(t, func() bool { // the reader has opened the pipe
					f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
					if err == nil {
						defer f.Close()
						run(t, pipe)
					}
					return err == nil
				}, jobtest.Deadline, time.Millisecond)
				holds(t, flag, <-got)
				require.Equal(t, fs.ModeNamedPipe, kind(pipe))
			})
			t.Run("a device", func(t *testing.T) {
				node := deviceNode(t)
				run(t, node)
				require.Equal(t, fs.ModeDevice|fs.ModeCharDevice, kind(node))
				link := node + "-link"
				require.NoError(t, os.Symlink(node, link))
				run(t, link)
				require.Equal(t, fs.ModeSymlink, kind(link))
				require.Equal(t, fs.ModeDevice|fs.ModeCharDevice, kind(node))
			})
			t.Run("a descriptor", func(t *testing.T) {
				name := filepath.Join(t.TempDir(), "f")
				f, err := os.Create(name)
				require.NoError(t, err)
				defer f.Close()
				_, err = f.WriteString("before\n")
				require.NoError(t, err)
				code, out := writes(t, -1, flag, "/dev/fd/3", f)
				require.Equal(t, 0, code, out)
				_, err = f.Seek(0, 2)
				require.NoError(t, err)
				_, err = f.WriteString("after\n")
				require.NoError(t, err)
				text, before := strings.CutPrefix(string(read(name)), "before\n")
				text, after := strings.CutSuffix(text, "after\n")
				require.True(t, before && after, "the file is another one now: %q", text)
				holds(t, flag, []byte(text))
			})
		})
	}
}

// deviceNode makes a device node that accepts all output.
func deviceNode(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root makes device nodes")
	}
	node := filepath.Join(t.TempDir(), "null")
	if err := unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Skipf("this container may make no device nodes: %v", err)
	}
	f, err := os.OpenFile(node, os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("device nodes do nothing in the folder for temporary files: %v", err)
	}
	f.Close()
	return node
}

// If a file cannot be written, the job is refused before the program runs, and no file is
// left.
func TestFilesThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Symlink("no/where", filepath.Join(dir, "astray")))
	require.NoError(t, os.Symlink("circle", filepath.Join(dir, "circle")))
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	require.NoError(t, unix.Bind(socket, &unix.SockaddrUnix{Name: filepath.Join(dir, "socket")}))
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"":          "it is a folder",
		"file/f":    "not a directory",
		"no/f":      "no such file or directory",
		"astray":    "no such file or directory",
		"circle":    "too many links",
		"socket":    "it is a socket",
		"proc/none": "",
	} {
		for _, flag := range []string{"-report", "-trace"} {
			at := filepath.Join(dir, name)
			if want == "" {
				at = "/proc/none" // a folder in which no process can make files
			}
			code, out := writes(t, -1, flag, at)
			require.Equal(t, 2, code, "%s %s: %s", flag, name, out)
			require.Contains(t, out, "intrarun: "+flag+" "+at+": ")
			require.Contains(t, out, want)
			require.NotContains(t, out, "it runs")
		}
	}
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// A new file has the permissions that the umask leaves. An existing file keeps its
// permissions.
func TestPermissionsOfFiles(t *testing.T) {
	for _, flag := range []string{"-report", "-trace"} {
		for umask, want := range map[int]fs.FileMode{0o077: 0o600, 0o022: 0o644, 0o002: 0o664} {
			name := filepath.Join(t.TempDir(), "f")
			code, out := writes(t, umask, flag, name)
			require.Equal(t, 0, code, out)
			st, err := os.Stat(name)
			require.NoError(t, err)
			require.Equal(t, want, st.Mode(), "%s, umask %03o", flag, umask)
			require.NoError(t, os.Chmod(name, 0o640))
			code, out = writes(t, umask, flag, name)
			require.Equal(t, 0, code, out)
			st, err = os.Stat(name)
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o640), st.Mode(), "%s again, umask %03o", flag, umask)
		}
	}
}
