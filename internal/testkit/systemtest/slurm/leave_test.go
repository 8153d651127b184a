//go:build system

package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// block returns the commands of docs/cluster.md that begin with a text.
func block(t *testing.T, first string) string {
	text, err := os.ReadFile("../../../../docs/cluster.md")
	require.NoError(t, err)
	for part := range strings.SplitSeq(string(text), "```sh\n") {
		if strings.HasPrefix(part, first) {
			commands, _, _ := strings.Cut(part, "```")
			return commands
		}
	}
	require.FailNow(t, "docs/cluster.md has no such block", first)
	return ""
}

// submit submits a batch script in a folder, in which intrarun and PROGRAM can be run by name, and
// returns the number of its job. The job is cancelled at the end of the test.
func (c *cluster) submit(t *testing.T, dir string, args ...string) string {
	out, err := c.ask(t, "sbatch", append([]string{"--parsable", "--chdir", dir, "--export", "ALL,PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")}, args...)...)
	require.NoError(t, err, "%s", out)
	id := strings.TrimSpace(out)
	t.Cleanup(func() { _, _ = c.ask(t, "scancel", id) }) // an error means that it has ended
	return id
}

// folder returns a folder with intrarun and a program called PROGRAM, which ends once the folder
// has a file called end.
func folder(t *testing.T) string {
	dir := t.TempDir()
	t.Cleanup(func() {
		all, _ := filepath.Glob(filepath.Join(dir, "*.out"))
		for _, name := range all {
			if text, _ := os.ReadFile(name); t.Failed() {
				t.Logf("--- %s\n%s", name, text)
			}
		}
	})
	require.NoError(t, os.Symlink(binaries.Intrarun(t), filepath.Join(dir, "intrarun")))
	program := "#!/bin/sh\nexec " + binaries.Program(t, "internal/testkit/systemtest/until") + " " + filepath.Join(dir, "end") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "PROGRAM"), []byte(program), 0o755))
	return dir
}

// right is what the program prints.
const right = "all passes were right\n"

// finish makes the program end.
func finish(t *testing.T, dir string) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, "end"), nil, 0o600))
}

var joinBy = regexp.MustCompile(`another host joins by: INTRA_SECRET_FILE=\S+ intrarun join (\S+)`)

// Each host is a job of its own in a preemptible partition. One of them is preempted: its
// processes move to the other one, and the job goes on.
func TestPreemptedHost(t *testing.T) {
	c := newCluster(t)
	dir := folder(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(strings.Repeat("secret", 8)), 0o600))
	j := jobtest.Start(t, jobtest.Spec{
		Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-hosts localhost:2 -n 2 -r 1 -replace -backup 20 -v"),
		Program: []string{filepath.Join(dir, "PROGRAM")}, Env: []string{"INTRA_SECRET_FILE=" + filepath.Join(dir, "secret")}, Dir: dir,
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- intrarun\n%s", j.Stderr())
		}
	})
	said := func(text string) {
		c.until(t, "want "+text, func() bool { return strings.Contains(j.Stderr(), text) })
	}
	said("the first backup is complete")
	words := joinBy.FindStringSubmatch(j.Stderr())
	require.NotNil(t, words, j.Stderr())
	line := strings.TrimSpace(block(t, "sbatch -p preemptible"))
	m := regexp.MustCompile(`^sbatch (-p preemptible --signal=\S+) --wrap '(.*) 10\.0\.0\.1:41423'$`).FindStringSubmatch(line)
	require.NotNil(t, m, line)
	join := func(node string) string {
		id := c.submit(t, dir, append(strings.Fields(m[1]), "-w", node, "--wrap", m[2]+" "+words[1])...)
		said("host " + node + " has joined the job")
		return id
	}
	join("n0")
	move := func(host string) {
		out, err := exec.Command(binaries.Intrarun(t), "drain", fmt.Sprint(j.PID()), host).CombinedOutput()
		require.NoError(t, err, "%s", out)
		said("host " + host + " has no process any more")
	}
	move("localhost")
	join("n1")
	c.submit(t, dir, "-p", "urgent", "-w", "n0", "--exclusive", "--wrap", "sleep 1")
	said("host n0 is to leave (SIGTERM to its agent)")
	said("host n0 has no process any more")
	finish(t, dir)
	r := j.Wait(t)
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, right, r.Stdout)
	require.Empty(t, r.Summary(t).Failures, r.Stderr)
}

// A batch script passes the signal that arrives before the time limit on to intrarun. The
// processes have nowhere to go, so a last set of files is written, and the script queues the
// job again, which continues from that set.
func TestSignalledBatchScript(t *testing.T) {
	c := newCluster(t)
	dir := folder(t)
	script := block(t, "#!/bin/sh\n#SBATCH --signal=B:TERM@60")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o755))
	id := c.submit(t, dir, "-p", "test", "--output", "job.out", "--error", "job.err.out", filepath.Join(dir, "script"))
	printed := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name)) // an error means that it has not begun
		return string(b)
	}
	c.until(t, "the job makes no passes", func() bool {
		_, err := os.Stat(filepath.Join(dir, "end.begun"))
		return err == nil
	})
	_, err := c.ask(t, "scancel", "--batch", "--signal=TERM", id)
	require.NoError(t, err)
	c.until(t, "the job is not interrupted", func() bool {
		return strings.Contains(printed("job.err.out"), "intrarun: interrupted (SIGTERM to intrarun): -restart ")
	})
	c.until(t, "the job is not queued again", func() bool {
		_, _ = c.ask(t, "scontrol", "update", "JobId="+id, "StartTime=now") // Slurm waits for two minutes otherwise; it fails until the job is queued
		return strings.Contains(printed("job.err.out"), "the job continues from safe point ")
	})
	finish(t, dir)
	c.until(t, "the job prints no result", func() bool { return printed("job.out") == right })
}
