//go:build linux

package hostfiles

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
}

func newDisk(t *testing.T) *disk {
	dir := t.TempDir()
	d := &disk{lossy(t), filepath.Join(dir, "folder"), filepath.Join(dir, "mount"), dir}
	require.NoError(t, os.Mkdir(d.folder, 0o755))
	require.NoError(t, os.Mkdir(d.mount, 0o755))
	return d
}

// command returns the prefix that runs a command on a host.
func (d *disk) command(host string) []string {
	return []string{"ip", "netns", "exec", host, d.lossy, d.folder, d.mount, d.counter(host)}
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

// A host is lost with unwritten pages of its writers. The next writers write the data
// again.
func TestLostPages(t *testing.T) {
	want := make(map[string]string)
	for _, c := range []struct {
		name, flags string
		lost        []string
	}{
		{"the next replica writes", "-n 4 -r 2", []string{"2.0 host", "3.0 host"}},
		{"replacements", "-n 4 -r 2 -replace -backup 4", []string{"2.0 host", "3.0 host"}},
		{"a rollback", "-n 4 -r 1 -replace -backup 3", nil},
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
				hosts = append(hosts, h.Name+":2")
			}
			j := jobtest.Start(t, jobtest.Spec{
				Intrarun: binaries.Intrarun(t),
				Flags:    append([]string{"-v", "-hosts", strings.Join(hosts, ","), "-rsh", strings.Join(d.command("{host}"), " ")}, strings.Fields(c.flags)...),
				Program:  append([]string{binaries.Program(t, program)}, args...),
				Prefix:   d.command(n.Hosts[0].Name), Dir: t.TempDir(), Outlived: true, Deadline: patience,
			})
			until := "all have joined"
			if strings.Contains(c.flags, "-backup") {
				until = "the first backup is complete"
			}
			for !strings.Contains(j.Stderr(), until) || d.dirty(n.Hosts[1].Name) < 20_000 {
				select {
				case <-j.Ended():
					require.FailNow(t, "the job ended before", j.Stderr())
				case <-time.After(time.Millisecond):
				}
			}
			lost := d.lose(t, n.Hosts[1])
			r := j.Wait(t)
			require.Zero(t, r.Code, r.Stderr)
			require.Positive(t, lost, "nothing was lost")
			if c.lost != nil {
				require.Subset(t, r.Summary(t).Deaths(), c.lost, r.Stderr)
			} else {
				require.NotEmpty(t, r.Summary(t).Rollbacks, r.Stderr)
			}
			got := contents(t, d.folder)
			for name, b := range want {
				require.True(t, got[name] == b, "%s differs\n%s", name, r.Stderr)
			}
			require.Len(t, got, len(want), "files are left\n%s", r.Stderr)
			t.Logf("%d bytes were lost", lost)
		})
	}
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
