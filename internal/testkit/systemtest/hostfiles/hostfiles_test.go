//go:build linux

package hostfiles

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) {
	if err := os.Chdir(root); err != nil { // the programs of the main module are built there
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(binaries.Main(m))
}

const (
	root     = "../../../.." // root of the main module
	here     = "internal/testkit/systemtest/hostfiles"
	program  = "internal/testkit/systemtest/files/writer"
	patience = 4 * time.Minute
)

// lossy builds the command that serves the file system of a host.
func lossy(t *testing.T) string {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		if os.Getenv("CI") == "true" && os.Geteuid() == 0 {
			t.Fatal(err)
		}
		t.Skipf("no FUSE: %v", err)
	}
	name := filepath.Join(t.TempDir(), "lossy")
	cmd := exec.Command("go", "build", "-o", name, "./lossy")
	cmd.Dir = here
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

// disk is a folder that hosts share, and the path at which each host sees it.
type disk struct {
	lossy, folder, mount, counters string
	flags                          []string // of lossy
}

func newDisk(t *testing.T) *disk {
	dir := t.TempDir()
	d := &disk{lossy: lossy(t), folder: filepath.Join(dir, "folder"), mount: filepath.Join(dir, "mount"), counters: dir}
	require.NoError(t, os.Mkdir(d.folder, 0o755))
	require.NoError(t, os.Mkdir(d.mount, 0o755))
	return d
}

// command returns the prefix that runs a command on a host.
func (d *disk) command(host string) []string {
	return slices.Concat([]string{"ip", "netns", "exec", host, d.lossy}, d.flags, []string{d.folder, d.mount, d.counter(host)})
}

func (d *disk) counter(host string) string { return filepath.Join(d.counters, "dirty-"+host) }

// dirty returns the number of bytes that a host would lose now.
func (d *disk) dirty(host string) int64 {
	b, err := os.ReadFile(d.counter(host))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}

// lose loses a host: first its link, then its memory, then its processes.
func (d *disk) lose(t *testing.T, h *netns.Host) int64 {
	require.NoError(t, h.Down())
	all, err := h.Processes()
	require.NoError(t, err)
	for _, pid := range all {
		if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); exe == d.lossy {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	require.NoError(t, h.Kill())
	return d.dirty(h.Name)
}

// The file system loses data that a program has written and not synchronized, and no other
// data.
func TestHostLosesItsPages(t *testing.T) {
	d, n := newDisk(t), netns.Test(t, 1)
	host := n.Hosts[0]
	args := append(d.command(host.Name), "sh", "-c", `cd "$0" && echo kept > kept && exec > lost && echo lost && sleep 1000`, d.mount)
	cmd := exec.Command(args[0], args[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for d.dirty(host.Name) != 5 {
		select {
		case err := <-ended:
			require.FailNow(t, "it ended before", "%v %s", err, &stderr)
		case <-time.After(5 * time.Millisecond):
		}
	}
	require.Equal(t, int64(5), d.lose(t, host))
	<-ended
	b, err := os.ReadFile(filepath.Join(d.folder, "kept"))
	require.NoError(t, err)
	require.Equal(t, "kept\n", string(b))
	b, err = os.ReadFile(filepath.Join(d.folder, "lost"))
	require.NoError(t, err)
	require.Empty(t, b)
}

// command is a command of the user to a running job, and a message that reports its effect.
type command struct{ line, then string }

// child returns the child of a process.
func child(t *testing.T, pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	require.NoError(t, err)
	all := strings.Fields(string(b))
	require.Len(t, all, 1)
	return all[0]
}

// A host is lost with unwritten pages of its writers. The next writers write the data
// again.
func TestLostPages(t *testing.T) {
	want := make(map[string]string)
	for _, c := range []struct {
		name, flags string
		slots       int // of each host
		host        int // that is lost
		lost        []string
		commands    []command // before
	}{
		{"the next replica writes", "-n 4 -r 2", 2, 1, []string{"2.0 host", "3.0 host"}, nil},
		{"the host of the head", "-n 4 -r 2", 2, 0, []string{"0.0 host", "1.0 host"}, nil},
		{"replacements", "-n 4 -r 2 -replace -backup 4", 2, 1, []string{"2.0 host", "3.0 host"}, nil},
		{"a rollback", "-n 4 -r 1 -replace -backup 3", 2, 1, nil, nil},
		{"other numbers of replicas", "-n 4 -r 1..2 -backup 4", 2, 1, []string{"2.0 host", "3.0 host"}, []command{{"degree JOB 0=1 2=1", "2.1 is let go on "}, {"degree JOB 2=2", "rank 2 is to be 2"}}},
		{"writers that have moved", "-n 4 -r 2 -replace -backup 4", 3, 2, []string{"0.0 host", "2.0 host"}, []command{{"drain JOB 2.0", "2.0 has moved from "}, {"drain JOB 0.0", "0.0 has moved from "}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, n := newDisk(t), netns.Test(t, 4)
			args := []string{"-passes", "60", "-dir", d.mount}
			if len(want) == 0 {
				dir := t.TempDir()
				r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 4 -r 1"),
					Program: []string{binaries.Program(t, program), "-passes", "60", "-dir", dir}, Deadline: patience})
				require.Zero(t, r.Code, r.Stderr)
				want = contents(t, dir)
			}
			var hosts []string
			for _, h := range n.Hosts {
				hosts = append(hosts, fmt.Sprint(h.Name, ":", c.slots))
			}
			work := t.TempDir()
			j := jobtest.Start(t, jobtest.Spec{
				Intrarun: binaries.Intrarun(t),
				Flags:    append([]string{"-v", "-hosts", strings.Join(hosts, ","), "-rsh", strings.Join(d.command("{host}"), " ")}, strings.Fields(c.flags)...),
				Program:  append([]string{binaries.Program(t, program)}, args...),
				Prefix:   d.command(n.Hosts[0].Name), Dir: work, Outlived: true, Deadline: patience,
			})
			until := "all have joined"
			if strings.Contains(c.flags, "-backup") {
				until = "the first backup is complete"
			}
			await := func(what func() bool) {
				for !what() {
					select {
					case <-j.Ended():
						require.FailNow(t, "the job ended before", j.Stderr())
					case <-time.After(time.Millisecond):
					}
				}
			}
			await(func() bool { return strings.Contains(j.Stderr(), until) })
			for _, c := range c.commands {
				line := strings.Fields(strings.Replace(c.line, "JOB", child(t, j.PID()), 1))
				await(func() bool { return n.Hosts[0].Command(binaries.Intrarun(t), line...).Run() == nil }) // it fails before the first safe point
				await(func() bool { return strings.Contains(j.Stderr(), c.then) })
			}
			await(func() bool { return d.dirty(n.Hosts[c.host].Name) >= 20_000 })
			lost := d.lose(t, n.Hosts[c.host])
			r := j.Wait(t)
			require.Positive(t, lost, "nothing was lost")
			if c.host == 0 { // the head is lost, too
				successors, err := filepath.Glob(filepath.Join(work, "intrarun-*.err"))
				require.NoError(t, err)
				require.Len(t, successors, 1, r.Stderr)
				b, err := os.ReadFile(successors[0])
				require.NoError(t, err)
				require.Contains(t, string(b), " is the new head")
				require.Contains(t, string(b), "intrarun: exit code 0\n")
				r.Stderr += string(b)
			} else {
				require.Zero(t, r.Code, r.Stderr)
			}
			if c.lost != nil {
				require.Subset(t, r.Summary(t).Deaths(), c.lost, r.Stderr)
			} else {
				require.NotEmpty(t, r.Summary(t).Rollbacks, r.Stderr)
			}
			same(t, want, contents(t, d.folder), r.Stderr)
			t.Logf("%d bytes were lost", lost)
		})
	}
}

// A writer dies at some step, also between two steps of a read, and loses what it has written
// since the last fsync. With INTRA_MATRIX
// it dies at every step of a pass.
func TestLostPagesAtSteps(t *testing.T) {
	const first, last = 29, 130 // steps of the passes 0 and 1
	args := func(dir string) []string { return []string{binaries.Program(t, program), "-passes", "3", "-dir", dir} }
	dir := t.TempDir()
	r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 2 -r 1"), Program: args(dir), Deadline: patience})
	require.Zero(t, r.Code, r.Stderr)
	want := contents(t, dir)
	n := netns.Test(t, 2)
	step := 4
	if jobtest.Matrix() {
		step = 1
	}
	for k := first; k < last; k += step {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			d := newDisk(t)
			d.flags = []string{"-mortal"}
			r := jobtest.Run(t, jobtest.Spec{
				Intrarun: binaries.Intrarun(t),
				Flags:    []string{"-v", "-n", "2", "-r", "2", "-hosts", n.Hosts[0].Name + ":2," + n.Hosts[1].Name + ":2", "-rsh", strings.Join(d.command("{host}"), " "), "-kill", fmt.Sprint("0.0@file:", k)},
				Program:  args(d.mount), Prefix: d.command(n.Hosts[0].Name), Dir: t.TempDir(), Deadline: patience,
			})
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, []string{"0.0 injected"}, r.Summary(t).Deaths(), r.Stderr)
			same(t, want, contents(t, d.folder), r.Stderr)
		})
	}
}

// same compares the files of two jobs.
func same(t *testing.T, want, got map[string]string, stderr string) {
	for name, b := range want {
		require.True(t, got[name] == b, "%s differs\n%s", name, stderr)
	}
	require.Len(t, got, len(want), "files are left\n%s", stderr)
}

// contents reads all files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := make(map[string]string)
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(b)
	}
	return all
}
