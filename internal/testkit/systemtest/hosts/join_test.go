//go:build system

package hosts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// joins is the part of a report about hosts that have joined.
type joins struct {
	Joins []struct {
		Host  string
		Slots int
		At    float64 `json:"at_seconds"`
	}
	Replacements []struct{ Host string }
}

// joinBy finds the command by which a host joins, in what a job with -v prints.
var joinBy = regexp.MustCompile(`another host joins by: (INTRA_SECRET_FILE=\S+) intrarun (join .*)\n`)

// join makes a host join the job by the command that the job has printed.
func (c *cluster) join(job run, host int, flags string) *exec.Cmd {
	c.t.Helper()
	var words []string
	require.Eventually(c.t, func() bool { words = joinBy.FindStringSubmatch(job.Stderr()); return words != nil }, jobtest.Deadline, time.Millisecond)
	name := c.Hosts[host].Name
	args := []string{"netns", "exec", name, "env", words[1], binaries.Intrarun(c.t), "join", "-name", name}
	args = append(append(args, strings.Fields(flags)...), strings.Fields(strings.TrimPrefix(words[2], "join "))...)
	cmd := exec.Command("ip", args...)
	out := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(c.t, cmd.Start())
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended if all is well
		_ = cmd.Wait()
	})
	return cmd
}

// await waits until the job has printed a text.
func (r run) await(text string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Contains(r.Stderr(), text) }, jobtest.Deadline, time.Millisecond, "%s\n%s", text, r.Stderr())
}

// drain makes a host leave the job.
func (c *cluster) drain(job run, host int) {
	c.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", c.Hosts[0].Name, binaries.Intrarun(c.t), "drain", strconv.Itoa(job.PID()), c.Hosts[host].Name).CombinedOutput()
	require.NoError(c.t, err, "%s\n%s", out, job.Stderr())
}

// endless returns a program that ends once end is called. It prints allRight.
func endless(t *testing.T) (program []string, end func()) {
	file := filepath.Join(t.TempDir(), "end")
	return []string{binaries.Program(t, "internal/testkit/systemtest/until"), file}, func() { require.NoError(t, os.WriteFile(file, nil, 0o600)) }
}

const allRight = "all passes were right\n"

// A job moves from the host that it began on to one that has joined, with one replica and no
// other room.
func TestJobMovesToAHostThatJoins(t *testing.T) {
	c := newCluster(t, 3)
	program, end := endless(t)
	job := c.start(c.list(2, 1), "-n 2 -r 1 -replace -backup 20 -v", program...)
	job.await("the first backup is complete")
	guest := c.join(job, 2, "-slots 2")
	job.await("host " + c.Hosts[2].Name + " has joined the job, with room for 2 processes")
	c.drain(job, 1)
	job.await("host " + c.Hosts[1].Name + " has no process any more")
	end()
	r := job.wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, allRight, r.Stdout)
	var d drains
	r.Decode(t, &d)
	require.Len(t, d.Drains, 1, r.Stderr)
	require.Len(t, d.Drains[0].Ranks, 2, r.Stderr)
	require.Empty(t, d.Failures)
	var j joins
	r.Decode(t, &j)
	require.Len(t, j.Joins, 1)
	require.Equal(t, c.Hosts[2].Name, j.Joins[0].Host)
	require.Equal(t, 2, j.Joins[0].Slots)
	require.NoError(t, guest.Wait(), "%s", guest.Stderr)
	c.requireEmpty()
}

// The successor of the head knows a host that has joined, and moves processes there.
func TestSuccessorKnowsTheHostThatJoined(t *testing.T) {
	c := newCluster(t, 5)
	program, end := endless(t)
	spec := c.spec(c.list(1, 1, 2, 3), "-n 3 -r 1 -replace -backup 20 -v", program...)
	spec.Dir = t.TempDir()
	job := &headless{run{jobtest.Start(t, spec), t}, spec.Dir}
	job.await("the first backup is complete")
	guest := c.join(job.run, 4, "")
	job.await("host " + c.Hosts[4].Name + " has joined the job")
	require.NoError(t, c.Hosts[0].Kill())
	job.await("is the new head")
	require.NoError(t, syscall.Kill(c.agent(3), syscall.SIGTERM))
	job.await("2.0 has moved from " + c.Hosts[3].Name + " to " + c.Hosts[4].Name)
	end()
	r, out, errs := job.wait()
	require.Equal(t, allRight, r.Stdout+out, errs)
	var d drains
	r.Decode(t, &d)
	require.Len(t, d.Drains, 1, errs)
	require.Equal(t, []int{2}, d.Drains[0].Ranks, errs)
	require.Empty(t, d.Failures)
	require.NoError(t, guest.Wait(), "%s", guest.Stderr)
	c.requireEmpty()
}

// intrarun grow starts the agent of a host by the command of -rsh. It reports an agent that cannot
// be started, and the job goes on.
func TestGrow(t *testing.T) {
	c := newCluster(t, 3)
	program, end := endless(t)
	job := c.start(c.list(1, 1), "-n 1 -r 1 -replace -v", program...)
	grow := func(hosts ...string) (string, error) {
		args := append([]string{"netns", "exec", c.Hosts[0].Name, binaries.Intrarun(t), "grow", strconv.Itoa(job.PID())}, hosts...)
		out, err := exec.Command("ip", args...).CombinedOutput()
		return string(out), err
	}
	require.Eventually(t, func() bool {
		out, err := grow("nosuchhost")
		return err != nil && strings.Contains(out, "host nosuchhost: ip ended with exit status")
	}, jobtest.Deadline, 10*time.Millisecond, job.Stderr())
	out, err := grow(c.Hosts[1].Name)
	require.ErrorContains(t, err, "exit status 1")
	require.Contains(t, out, "it has a host "+c.Hosts[1].Name+" already")
	out, err = grow(c.Hosts[2].Name + ":2")
	require.NoError(t, err, "%s%s", out, job.Stderr())
	require.Equal(t, "the hosts have joined the job\n", out)
	require.Eventually(t, func() bool {
		return exec.Command("ip", "netns", "exec", c.Hosts[0].Name, binaries.Intrarun(t), "drain", strconv.Itoa(job.PID()), "0.0").Run() == nil
	}, jobtest.Deadline, 10*time.Millisecond)
	job.await("0.0 has moved from ")
	end()
	r := job.wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, allRight, r.Stdout)
	var d drains
	r.Decode(t, &d)
	require.Equal(t, []int{0}, d.Drains[0].Ranks, r.Stderr)
	c.requireEmpty()
}

// A host that joins and dies at once does not disturb the job, and may join again.
func TestHostThatJoinsAndDies(t *testing.T) {
	c := newCluster(t, 4)
	end := filepath.Join(t.TempDir(), "end")
	job := c.start(c.list(1, 1, 2), "-n 1 -r 2 -replace -v", steps.Program("join", "await:"+end, "out:x", "finish")...)
	job.await("all have joined")
	guest := c.join(job, 3, "")
	job.await("host " + c.Hosts[3].Name + " has joined the job")
	require.NoError(t, guest.Process.Kill())
	job.await("host " + c.Hosts[3].Name + " has not been heard from")
	again := c.join(job, 3, "")
	require.Eventually(t, func() bool { return strings.Count(job.Stderr(), "has joined the job, with") == 2 }, jobtest.Deadline, time.Millisecond)
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	r := job.wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, "x\n", r.Stdout)
	require.NoError(t, again.Wait(), "%s", again.Stderr)
	require.Empty(t, r.report.Deaths())
	c.requireEmpty()
}

// A spare that was used is replaced on a host that joins, and the new one is used in its turn.
func TestHostThatJoinsGetsASpare(t *testing.T) {
	c := newCluster(t, 4)
	program, end := endless(t)
	job := c.start(c.list(2, 1, 2), "-n 1 -r 2 -spares 1 -v", program...)
	job.await("all have joined")
	kill := func(name, by string) {
		words := regexp.MustCompile(regexp.QuoteMeta(name) + ` has joined: process (\d+) on`).FindStringSubmatch(job.Stderr())
		require.NotNil(t, words, job.Stderr())
		pid, err := strconv.Atoi(words[1])
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		job.await(name + " is replaced by another process on " + by)
	}
	kill("0.1", "")
	guest, host := c.join(job, 3, "-slots 1"), c.Hosts[3].Name
	job.await("a spare process on " + host + " has joined")
	kill("0.0", host)
	end()
	r := job.wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, allRight, r.Stdout)
	var j joins
	r.Decode(t, &j)
	require.Len(t, j.Replacements, 2)
	require.Equal(t, host, j.Replacements[1].Host)
	require.NoError(t, guest.Wait(), "%s", guest.Stderr)
	c.requireEmpty()
}
