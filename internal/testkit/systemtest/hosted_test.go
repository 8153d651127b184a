//go:build system

package systemtest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// patience is the time after which a job on hosts counts as hanging. Detecting the loss of
// a host takes time.
const patience = 3 * time.Minute

// hostedSpec describes HPCCG on the hosts of net. Each has that many slots, and the first
// one runs intrarun.
func hostedSpec(t *testing.T, net *netns.Net, slots int, flags string, problem []string) jobtest.Spec {
	var hosts []string
	for _, h := range net.Hosts {
		hosts = append(hosts, fmt.Sprintf("%s:%d", h.Name, slots))
	}
	return jobtest.Spec{
		Intrarun: binaries.Intrarun(t),
		Flags:    append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", strings.Join(hosts, ",")}, strings.Fields(flags)...),
		Program:  append([]string{hpccg(t)}, problem...),
		Prefix:   []string{"ip", "netns", "exec", net.Hosts[0].Name},
		Dir:      t.TempDir(),
		Outlived: true,
		Deadline: patience,
	}
}

// onHosts runs HPCCG on hosts. It calls during once all processes have joined and, if
// backups were requested, the first one is complete. hash is empty if nothing was printed.
func onHosts(t *testing.T, net *netns.Net, slots int, flags, problem string, during func()) (r jobRun, hash string) {
	t.Helper()
	j := jobtest.Start(t, hostedSpec(t, net, slots, flags, append(strings.Fields(problem), "-json")))
	if during != nil {
		if await(t, j, begun(flags)); !ended(j) {
			during()
		}
	}
	end := j.Wait(t)
	require.NotEmpty(t, end.Report, end.Stderr)
	r = newJobRun(t, end)
	if r.stdout != "" {
		hash = bits(t, r.stdout)
	}
	return r, hash
}

func ended(j *jobtest.Job) bool {
	select {
	case <-j.Ended():
		return true
	default:
		return false
	}
}

// hostedJob is HPCCG on hosts. The head is on the first host.
type hostedJob struct {
	*jobtest.Job
	t    *testing.T
	net  *netns.Net
	spec jobtest.Spec
}

// These are messages of heads with -v.
const (
	joined   = "all have joined"
	backedUp = "the first backup is complete"
	finished = "all have finished"
)

// begun returns the message by which the head reports that the job can survive a loss.
func begun(flags string) string {
	if strings.Contains(flags, "-backup") {
		return backedUp
	}
	return joined
}

// startHosted starts HPCCG on the hosts of net, each with that many slots. It waits until
// the head has printed the text until.
func startHosted(t *testing.T, net *netns.Net, slots int, flags string, problem []string, until string) *hostedJob {
	t.Helper()
	spec := hostedSpec(t, net, slots, flags, problem)
	j := &hostedJob{jobtest.Start(t, spec), t, net, spec}
	await(t, j.Job, until)
	require.Contains(t, j.Stderr(), until, "it has ended")
	return j
}

// lose loses the head.
func (j *hostedJob) lose(how func() error) {
	j.t.Helper()
	require.NoError(j.t, how())
	<-j.Ended()
}

// errs returns the messages of the head's successor.
func (j *hostedJob) errs() string { return successor(j.spec.Dir, j.PID(), ".err") }

// finished reports whether the first head has seen the end of the job.
func (j *hostedJob) finished() bool { return strings.Contains(j.Stderr(), finished) }

// await waits until the successor has printed a text, or has ended.
func (j *hostedJob) await(text string) {
	j.t.Helper()
	require.Eventually(j.t, func() bool {
		errs := j.errs()
		return strings.Contains(errs, text) || j.over()
	}, patience, time.Millisecond, "%s", j.Stderr())
}

// over reports whether the job has ended, under any head.
func (j *hostedJob) over() bool {
	return j.finished() || strings.Contains(j.errs(), "intrarun: exit code")
}

var joinedAs = regexp.MustCompile(`(\d+\.\d+) has joined: process (\d+) on (\S+)`)

// kill kills a process on whichever host it runs now.
func (j *hostedJob) kill(process string) {
	pid := 0
	for _, m := range joinedAs.FindAllStringSubmatch(j.Stderr()+j.errs(), -1) {
		if m[1] == process {
			_, _ = fmt.Sscan(m[2], &pid) // cannot fail: it is a number
		}
	}
	if pid == 0 {
		return // the job has ended
	}
	require.NoError(j.t, ignoreGone(syscall.Kill(pid, syscall.SIGKILL)))
}

// end waits until no process is left, repairs the hosts, and returns the output of the
// successor. lost is false if the job ended before the head was lost.
func (j *hostedJob) end() (r jobRun, lost bool) {
	t := j.t
	t.Helper()
	r = newJobRun(t, j.Wait(t))
	for _, h := range j.net.Hosts {
		require.NoError(t, h.Up())
	}
	r.stderr += j.errs()
	if j.finished() {
		return r, false
	}
	// The message names the lost head, or one that was elected in the meantime and had no time to
	// report that.
	require.Contains(t, r.stderr, " is the new head, in place of the one on ")
	r.code = r.report.ExitCode
	require.Contains(t, r.stderr, fmt.Sprintf("intrarun: exit code %d\n", r.code))
	r.stdout = cmp.Or(successor(j.spec.Dir, j.PID(), ".out"), r.stdout) // a successor may have taken over before the loss
	return r, true
}

// successor reads a file that the successor of the head has written.
func successor(dir string, head int, suffix string) string {
	b, _ := os.ReadFile(filepath.Join(dir, fmt.Sprintf("intrarun-%d%s", head, suffix)))
	return string(b)
}
