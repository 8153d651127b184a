//go:build system

package hosts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// asPrinter is the first argument of a program that prints a number of lines on each rank, with a
// safe point before each.
const asPrinter = "printer:"

func printerMain() {
	if len(os.Args) > 2 && os.Args[1] == asPrinter {
		intra.Main(func(p *intra.Process) error {
			n, err := strconv.Atoi(os.Args[2])
			if err != nil {
				return err
			}
			line := 0
			intra.Protect(p, "line", &line)
			for ; line < n; line++ {
				if err := p.SafePoint(); err != nil {
					return err
				}
				if _, err := comm.AllreduceValue(p.World(), line, comm.Max); err != nil {
					return err
				}
				fmt.Printf("rank %d line %d\n", p.Rank(), line)
				time.Sleep(2 * time.Millisecond)
			}
			return nil
		})
	}
}

// startPrinter starts a job of 3 ranks on hosts; intrarun is on the first one of the cluster. It waits
// until the processes can move.
func startPrinter(c *cluster, n int, hosts, flags string, env ...string) *headless {
	spec := c.spec(hosts, "-n 3 -replace -backup 20 -drain -v "+flags, os.Args[0], asPrinter, strconv.Itoa(n))
	spec.Dir, spec.Env = c.t.TempDir(), env
	h := &headless{run{jobtest.Start(c.t, spec), c.t}, spec.Dir}
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("intrarun said:\n%s\nits successors:\n%s", h.Stderr(), h.left(".err"))
		}
	})
	h.await("the first backup is complete")
	return h
}

// handOver makes the host of intrarun leave, and returns the host of the next head.
func (h *headless) handOver(c *cluster) (host int) {
	h.t.Helper()
	require.NoError(h.t, syscall.Kill(h.PID(), syscall.SIGTERM))
	return h.next(c, 1)
}

// newHead matches what a new head prints.
var newHead = regexp.MustCompile(`intrarun: (\S+) is the new head`)

// next waits until n heads have followed the first one, and returns the host of the last of them.
func (h *headless) next(c *cluster, n int) (host int) {
	h.t.Helper()
	var heads [][]string
	require.Eventually(h.t, func() bool {
		heads = newHead.FindAllStringSubmatch(h.Stderr()+h.left(".err"), -1)
		select {
		case <-h.Ended():
			return true
		default:
			return len(heads) >= n
		}
	}, jobtest.Deadline, time.Millisecond)
	require.GreaterOrEqual(h.t, len(heads), n, "intrarun has ended before there is a new head")
	return slices.IndexFunc(c.Hosts, func(x *netns.Host) bool { return x.Name == heads[len(heads)-1][1] })
}

// requirePrinted requires that each rank has printed its n lines in order. Each rank may repeat at
// most twice lines later.
func requirePrinted(t *testing.T, n, twice int, text string) {
	t.Helper()
	next, again := make(map[int]int), make(map[int]int)
	for line := range strings.Lines(text) {
		var rank, i int
		_, err := fmt.Sscanf(line, "rank %d line %d\n", &rank, &i)
		require.NoError(t, err, line)
		if i < next[rank] {
			again[rank]++
			require.LessOrEqual(t, again[rank], twice, "rank %d line %d comes twice", rank, i)
			next[rank] = i
		}
		require.Equal(t, next[rank], i, "the next line of rank %d", rank)
		next[rank]++
	}
	require.Equal(t, map[int]int{0: n, 1: n, 2: n}, next)
}

// An intrarun that has handed over writes the output of the job to its end, each line once and in
// order, and ends with the exit code of the job: also if the next head hands over or is lost.
func TestIntrarunStaysForTheOutput(t *testing.T) {
	for _, s := range jobtest.Some([]struct {
		name, flags string
		then        func(c *cluster, h *headless, head int)
	}{
		{"the next head stays", "", func(*cluster, *headless, int) {}},
		{"the next head hands over", "-tls", func(c *cluster, h *headless, head int) {
			c.drain(h.run, head) // intrarun passes the question on
			h.next(c, 2)
		}},
		{"the next head is lost", "", func(c *cluster, h *headless, head int) {
			require.NoError(h.t, c.Hosts[head].Kill())
			h.next(c, 2)
		}},
	}, 1, 2) {
		t.Run(s.name, func(t *testing.T) {
			const n = 800
			c := newCluster(t, 4)
			h := startPrinter(c, n, c.list(2, 0, 1, 2, 3), "-r 2 "+s.flags)
			s.then(c, h, h.handOver(c))
			r, out, errs := h.wait()
			require.Zero(t, r.Code, r.Stderr)
			require.Empty(t, out+errs)
			requirePrinted(t, n, 0, r.Stdout)
			all, err := filepath.Glob(filepath.Join(h.dir, "intrarun-*"))
			require.NoError(t, err)
			require.Empty(t, all)
			c.requireEmpty()
		})
	}
}

// Under Kubernetes SIGTERM is a notice. The pod of the head that gets one writes the output to the
// end, and every pod ends with the exit code of the job.
func TestPodOfTheHeadGetsNotice(t *testing.T) {
	const n = 800
	c := newCluster(t, 4)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, bytes.Repeat([]byte("secret"), 8), 0o600))
	var pods []*jobtest.Job
	for i, h := range c.Hosts {
		pods = append(pods, jobtest.Start(t, jobtest.Spec{
			Intrarun: binaries.Intrarun(t),
			Flags:    strings.Fields("-n 3 -r 2 -replace -backup 20 -v"),
			Program:  []string{os.Args[0], asPrinter, strconv.Itoa(n)},
			Prefix:   []string{"ip", "netns", "exec", h.Name},
			Outlived: true,
			Env: []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), "INTRA_HOSTS=pod-[0-3]:2", "KUBERNETES_SERVICE_HOST=10.0.0.1",
				fmt.Sprintf("INTRA_HEAD=%v:7700", c.Hosts[0].Addr), "INTRA_SECRET_FILE=" + secret},
		}))
	}
	first := run{pods[0], t}
	first.await("the first backup is complete")
	require.NoError(t, syscall.Kill(first.PID(), syscall.SIGTERM))
	first.await(" is the new head, in place of the one on ")
	for i, pod := range pods {
		r := pod.Wait(t)
		require.Zero(t, r.Code, r.Stderr)
		if i == 0 {
			requirePrinted(t, n, 0, r.Stdout)
		} else {
			require.Empty(t, r.Stdout)
		}
	}
	c.requireEmpty()
}

// A signal to an intrarun that has handed over ends the job, with its exit code.
func TestSignalEndsAJobThatWasHandedOver(t *testing.T) {
	for _, s := range jobtest.Some([]struct {
		name   string
		signal syscall.Signal
		lose   bool // the next head is lost at that moment
		code   int
	}{
		{"SIGINT", syscall.SIGINT, false, 130},
		{"a second SIGTERM", syscall.SIGTERM, false, 143},
		{"SIGINT while the next head is lost", syscall.SIGINT, true, 130},
	}, 1) {
		t.Run(s.name, func(t *testing.T) {
			c := newCluster(t, 4)
			h := startPrinter(c, 1<<20, c.list(2, 0, 1, 2, 3), "-r 2")
			head := h.handOver(c)
			if s.lose {
				require.NoError(t, c.Hosts[head].Kill())
			}
			require.NoError(t, syscall.Kill(h.PID(), s.signal))
			r, _, _ := h.wait()
			require.Equal(t, s.code, r.Code, r.Stderr)
			c.requireEmpty()
		})
	}
}

// If an intrarun ends before the job that it has handed over, no output is lost.
func TestIntrarunEndsBeforeTheJob(t *testing.T) {
	for _, s := range jobtest.Some([]struct {
		name, flags string
		end         func(c *cluster, h *headless, head int)
		code        int
		twice       int // that many lines may be repeated
	}{
		{"the time of -grace is over", "-grace 1s", func(*cluster, *headless, int) {}, 6, 0},
		{"it is killed", "", func(c *cluster, h *headless, _ int) { require.NoError(h.t, syscall.Kill(h.PID(), syscall.SIGKILL)) }, -1, 1},
		{"its host is killed", "", func(c *cluster, h *headless, _ int) { require.NoError(h.t, c.Hosts[0].Kill()) }, -1, 1},
		{"it is killed, and the next head is lost", "", func(c *cluster, h *headless, head int) {
			h.await(" the decisions of the head are kept on ") // the first host does not keep them any more
			require.NoError(h.t, syscall.Kill(h.PID(), syscall.SIGKILL))
			require.NoError(h.t, c.Hosts[head].Kill())
		}, -1, 1},
	}, 0, 1) {
		t.Run(s.name, func(t *testing.T) {
			const n = 800
			c := newCluster(t, 4)
			h := startPrinter(c, n, c.list(2, 0, 1, 2, 3), "-r 2 "+s.flags)
			s.end(c, h, h.handOver(c))
			r, out, errs := h.wait()
			require.Equal(t, s.code, r.Code, r.Stderr)
			require.NotEmpty(t, r.Stdout)
			require.NotEmpty(t, out, errs)
			requirePrinted(t, n, s.twice, r.Stdout+out)
			require.Contains(t, errs, "intrarun: exit code 0\n")
			c.requireEmpty()
		})
	}
}

// When the host of intrarun leaves, so does an agent that has joined the running job there. A host
// that joins at the address of intrarun after that finds the present head, which also starts the
// agents of hosts.
func TestGuestOnTheHostOfIntrarunLeaves(t *testing.T) {
	const n = 2500
	c := newCluster(t, 7)
	h := startPrinter(c, n, c.list(1, 1, 2, 3), "-r 1")
	moved := func(from, to int) { h.await(" has moved from " + c.Hosts[from].Name + " to " + c.Hosts[to].Name) }
	var guests []*exec.Cmd
	join := func(host int) {
		guests = append(guests, c.join(h.run, host, ""))
		h.await("host " + c.Hosts[host].Name + " has joined the job, with")
	}
	join(0)
	c.drain(h.run, 1)
	moved(1, 0)
	join(4)
	h.handOver(c)
	moved(0, 4)
	join(5)
	ask := func(command, what string) {
		out, err := c.Hosts[0].Command(binaries.Intrarun(t), command, strconv.Itoa(h.PID()), what).CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, h.Stderr())
	}
	ask("drain", "1.0")
	moved(2, 5)
	ask("grow", c.Hosts[6].Name)
	r, _, _ := h.wait()
	require.Zero(t, r.Code, r.Stderr)
	requirePrinted(t, n, 0, r.Stdout)
	for _, g := range guests {
		require.NoError(t, g.Wait(), "%s", g.Stderr)
	}
	c.requireEmpty()
}

// A host can join under a head that has taken over from a lost one, at the address that it prints.
func TestHostJoinsASuccessor(t *testing.T) {
	const n = 2500
	c := newCluster(t, 5)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, bytes.Repeat([]byte("secret"), 8), 0o600))
	h := startPrinter(c, n, c.list(1, 1, 2, 3), "-r 1", "INTRA_SECRET_FILE="+secret)
	require.NoError(t, syscall.Kill(h.PID(), syscall.SIGKILL))
	h.await(" is the new head")
	var words []string
	require.Eventually(t, func() bool { words = joinBy.FindStringSubmatch(h.left(".err")); return words != nil }, jobtest.Deadline, time.Millisecond)
	name := c.Hosts[4].Name
	guest := c.Hosts[4].Command(binaries.Intrarun(t), append([]string{"join", "-name", name}, strings.Fields(words[2])[1:]...)...)
	guest.Env = append(os.Environ(), "INTRA_SECRET_FILE="+secret)
	require.NoError(t, guest.Start())
	t.Cleanup(func() { _ = guest.Process.Kill() }) // it has ended if all is well
	h.await("host " + name + " has joined the job, with")
	require.NoError(t, syscall.Kill(c.agent(3), syscall.SIGTERM))
	h.await(" has moved from " + c.Hosts[3].Name + " to " + name)
	r, out, errs := h.wait()
	requirePrinted(t, n, 20, r.Stdout+out)
	require.Contains(t, errs, "intrarun: exit code 0\n")
	require.NoError(t, guest.Wait())
	c.requireEmpty()
}

// The host of the next head is killed some time after the notice: before it becomes the head,
// while it does, or after that. No line is lost or repeated.
func TestNextHeadIsKilledAfterNotice(t *testing.T) {
	jobtest.NeedMatrix(t, "another test kills the next head at one moment")
	const n = 500
	c := newCluster(t, 4)
	for after := range 12 {
		h := startPrinter(c, n, c.list(2, 0, 1, 2, 3), "-r 2")
		require.NoError(t, syscall.Kill(h.PID(), syscall.SIGTERM))
		time.Sleep(time.Duration(after) * 40 * time.Millisecond)
		require.NoError(t, c.Hosts[1].Kill())
		r, out, errs := h.wait()
		t.Logf("killed %d ms after notice", 40*after)
		require.Zero(t, r.Code, r.Stderr)
		require.Empty(t, out+errs)
		requirePrinted(t, n, 0, r.Stdout)
		c.requireEmpty()
		require.NoError(t, c.Hosts[1].Up())
	}
}
