//go:build system

package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// The tests in this file change the file of a program while a job runs it, as a user does
// when developing it.

// refused matches messages of the head about replacements that are not available.
const refused = `the replacement for|no such file`

// ownHPCCG returns the path of a copy of HPCCG that a test may change.
func ownHPCCG(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "hpccg")
	b, err := os.ReadFile(hpccg(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b, 0o755))
	return path
}

// rebuild replaces a program by another build, as go build does.
func rebuild(t *testing.T, program string) {
	t.Helper()
	b, err := os.ReadFile(program)
	require.NoError(t, err)
	id := bytes.Index(b, []byte("Go\x00\x00")) + 4 // the build ID is in the first note of that name
	require.Greater(t, id, 3)
	b[id+1]++
	require.NoError(t, os.Remove(program))
	require.NoError(t, os.WriteFile(program, b, 0o755))
}

func remove(t *testing.T, program string) {
	t.Helper()
	require.NoError(t, os.Remove(program))
}

// killReplica kills a process of a job, unless the process has ended.
func killReplica(t *testing.T, j *jobtest.Job, name string) {
	t.Helper()
	for _, p := range j.Processes() {
		if p.Name == name && p.Rank {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // an error means that the process has ended
			return
		}
	}
	require.True(t, ended(j), "there is no "+name)
}

// TestReplacementAfterARebuild changes the file of the program. A killed process is still
// replaced by one of the build of the live ones, and the results are equal.
func TestReplacementAfterARebuild(t *testing.T) {
	for _, c := range jobtest.Some([]struct {
		name   string
		change func(t *testing.T, program string)
		built  bool // intrarun builds it from a package
	}{
		{"built again", rebuild, false},
		{"removed", remove, false},
		{"built by intrarun, removed", remove, true},
	}, 0, 2) {
		t.Run(c.name, func(t *testing.T) {
			for iters := 500; ; iters *= 4 { // more iterations until the job lasts long enough
				require.Less(t, iters, 200_000, "it has always ended too early")
				problem := strings.Fields(fmt.Sprintf("-nx 16 -ny 16 -nz 16 -iters %d -json", iters))
				dir, program := t.TempDir(), "../../../examples/hpccg"
				if !c.built {
					program = ownHPCCG(t)
				}
				j := jobtest.Start(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-v -n 2 -r 2 -replace"),
					Program: append([]string{program}, problem...), Env: []string{"TMPDIR=" + dir}, Deadline: patience})
				await(t, j, joined)
				if c.built {
					all, err := filepath.Glob(filepath.Join(dir, "intrarun-*", "hpccg"))
					require.NoError(t, err)
					require.Len(t, all, 1)
					program = all[0]
				}
				c.change(t, program)
				killReplica(t, j, "1.1")
				r := newJobRun(t, j.Wait(t))
				require.Zero(t, r.code, r.stderr)
				require.NotRegexp(t, refused, r.stderr)
				if len(r.report.Replacements) == 0 {
					continue
				}
				require.Equal(t, []string{"1.1"}, r.report.Replaced(), r.stderr)
				require.Equal(t, intrarun(t, "-n 2 -r 1", problem...).sum(t), r.sum(t), r.stderr)
				return
			}
		})
	}
}

// TestReplacementOnOtherHostsAfterARebuild is the same test on several hosts. One of them
// has no process of the job until another host is lost.
func TestReplacementOnOtherHostsAfterARebuild(t *testing.T) {
	t.Parallel()
	n := netns.Test(t, 3)
	for _, c := range jobtest.Some([]struct {
		name     string
		change   func(t *testing.T, program string)
		lose     func(t *testing.T, j *jobtest.Job)
		replaced []string
		host     int // host of these processes
	}{
		{"built again, a process", rebuild, func(t *testing.T, j *jobtest.Job) { killReplica(t, j, "1.1") }, []string{"1.1"}, 1},
		{"removed, a host", remove, func(t *testing.T, j *jobtest.Job) { require.NoError(t, n.Hosts[1].Kill()) }, []string{"0.1", "1.1"}, 2},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			for iters := 500; ; iters *= 4 {
				require.Less(t, iters, 200_000, "it has always ended too early")
				problem := strings.Fields(fmt.Sprintf("-nx 16 -ny 16 -nz 16 -iters %d -json", iters))
				spec := hostedSpec(t, n, 2, "-n 2 -r 2 -replace", problem)
				spec.Program[0] = ownHPCCG(t)
				j := jobtest.Start(t, spec)
				await(t, j, joined)
				c.change(t, spec.Program[0])
				c.lose(t, j)
				r := newJobRun(t, j.Wait(t))
				require.NoError(t, n.Hosts[1].Up())
				require.Zero(t, r.code, r.stderr)
				require.NotRegexp(t, refused, r.stderr)
				if len(r.report.Replacements) < len(c.replaced) {
					continue
				}
				require.ElementsMatch(t, c.replaced, r.report.Replaced(), r.stderr)
				for _, one := range r.report.Replacements {
					require.Equal(t, n.Hosts[c.host].Name, one.Host, r.stderr)
				}
				require.Equal(t, intrarun(t, "-n 2 -r 1", problem...).sum(t), r.sum(t), r.stderr)
				return
			}
		})
	}
}
