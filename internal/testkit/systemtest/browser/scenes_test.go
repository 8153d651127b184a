package browser

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/testkit/netns"
)

// documented returns the n-th output beneath a heading of docs/see.md.
func documented(t *testing.T, heading string, n int) string {
	b, err := os.ReadFile(filepath.Join(root, "docs", "see.md"))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(b), "\n### "+heading+"\n")
	require.True(t, ok, heading)
	rest, _, _ = strings.Cut(rest, "\n#")
	blocks := strings.Split(rest, "```text\n")
	require.Greater(t, len(blocks), n+1, heading)
	block, _, _ := strings.Cut(blocks[n+1], "```")
	return strings.ReplaceAll(block, "heat/main.go", "waits/main.go") // the program of these tests
}

var (
	changing = regexp.MustCompile(`\d+\.\d+ s|(\d+[hms])+ left|E \d\.\d+|section \d+|:\d+|\d+ sections|\d+/\d+|http://\S+|\d+ %|\d+\.\d{3}`)
	spaces   = regexp.MustCompile(`  +`)
)

// alike removes from a text the numbers that differ each time.
func alike(text string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(changing.ReplaceAllString(text, "#"), "  "))
}

// status requests the status of a job as a user does.
func (r *running) status() string {
	line := append(slices.Clone(r.where), built(r.t, "intrarun"), "status", fmt.Sprint(r.cmd.Process.Pid))
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return string(out)
}

// statusLine matches the line of one process in a status.
var statusLine = regexp.MustCompile(`(?m)^  (\d+\.\d+)  (.*)$`)

// saysAsDocumented waits until the status equals the documented one beneath a heading.
// Then it checks that the page shows the same text for each process.
func (r *running) saysAsDocumented(ctx context.Context, heading string) {
	r.t.Helper()
	want := documented(r.t, heading, 0)
	r.awaitStatus(want, alike)
	lines := statusLine.FindAllStringSubmatch(alike(want), -1)
	require.NotEmpty(r.t, lines)
	for _, l := range lines {
		r.saysOf(ctx, l[1], l[2])
	}
}

// saysOf selects a process on the page, and waits until the page shows a text for it.
func (r *running) saysOf(ctx context.Context, process, what string) {
	r.t.Helper()
	require.NoError(r.t, chromedp.Run(ctx, chromedp.Click(fmt.Sprintf(`.cell[data-process=%q]:not(.chosen)`, process))))
	pattern := strings.ReplaceAll(regexp.QuoteMeta(what), "#", ".+")
	shows(r.t, ctx, text("#detail", strings.ReplaceAll(process, ".", `\.`)+` on \S+, pid \d+(, incarnation \d+)?\n`+strings.ReplaceAll(pattern, "/", `\/`)+`\n`))
}

// awaitStatus waits until the status is as wanted. compared selects the part of it that is
// compared.
func (r *running) awaitStatus(want string, compared func(string) string) {
	r.t.Helper()
	got := ""
	for end := time.Now().Add(deadline / 3); compared(got) != compared(want); time.Sleep(100 * time.Millisecond) {
		if got = r.status(); time.Now().After(end) {
			require.Equal(r.t, compared(want), compared(got), "%s", got)
		}
	}
}

// event returns the condition that the page shows an event.
func event(kind, re string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#events .%s')].some(e => /%s/.test(e.innerText))", kind, re)
}

const nothing = "document.querySelector('#none') !== null"

func TestADeadlock(t *testing.T) {
	chromium(t)
	r := begin(t, "-n 2 -r 1 -stuck 2s", "waits cycle")
	ctx := open(t, r.url)
	shows(t, ctx, cells("w", 2))
	shows(t, ctx, event("deadlock", `deadlock: 0 waits in Recv from 1 tag 3 \(waits\/main\.go:\d+\), 1 waits in Barrier for 0`))
	r.saysAsDocumented(ctx, "A deadlock")
	require.Contains(t, alike(r.said()), alike(documented(t, "A deadlock", 1)))
	picture(t, ctx, "deadlock")
	r.interrupt()
	shows(t, ctx, text("#report", `exit code +143`))
}

// The job begins only when the browser has started, because it ends soon.
func TestARankThatWaitsForAFinishedOne(t *testing.T) {
	chromium(t)
	const heading = "A rank that waits for a finished one"
	t.Chdir(t.TempDir())
	r := begin(t, "-n 2 -r 1", "waits barrier begin")
	ctx := open(t, r.url)
	shows(t, ctx, cells("r", 2))
	require.NoError(t, os.WriteFile("begin", nil, 0o600))
	_ = r.cmd.Wait() // with exit code 1
	require.Equal(t, 1, r.cmd.ProcessState.ExitCode(), r.said())
	require.Contains(t, alike(r.said()), alike(documented(t, heading, 0)))
	shows(t, ctx, event("death", `1\.0 died \(exit\): rank 1 waits in Barrier for rank 0, which has finished \(waits\/main\.go:\d+\)`))
	shows(t, ctx, text("#report", `exit code +1: rank 1 has lost its last replica`))
	shows(t, ctx, cells("f", 1))
	shows(t, ctx, cells("x", 1))
	picture(t, ctx, "finished")
}

func TestAForgottenMessage(t *testing.T) {
	chromium(t)
	const heading = "A forgotten message"
	r := begin(t, "-n 2 -r 1 -stuck 2s", "waits tags")
	ctx := open(t, r.url)
	shows(t, ctx, cells("w", 2))
	shows(t, ctx, event("deadlock", `deadlock: 0 waits in Recv from 1 tag 3 .*, 1 waits in Recv from 0 tag 3 `))
	r.saysAsDocumented(ctx, heading)
	require.Contains(t, alike(r.said()), alike(documented(t, heading, 1)))
	picture(t, ctx, "forgotten")
	r.interrupt()
}

func TestAnEndlessLoop(t *testing.T) {
	chromium(t)
	r := begin(t, "-n 2 -r 1 -stuck 2s", "waits forever")
	ctx := open(t, r.url)
	shows(t, ctx, cells("r", 1))
	shows(t, ctx, cells("w", 1))
	r.saysAsDocumented(ctx, "An endless loop")
	r.saysOf(ctx, "0.0", "runs, # and # safe points behind it, for #")
	shows(t, ctx, nothing)
	picture(t, ctx, "loop")
	r.interrupt()
	require.NotContains(t, r.said(), "deadlock")
}

// stop stops a process of the job.
func (r *running) stop(process string) {
	out, err := exec.Command(built(r.t, "intrarun"), "status", "-json", fmt.Sprint(r.cmd.Process.Pid)).Output()
	require.NoError(r.t, err)
	m := regexp.MustCompile(`"process": "` + regexp.QuoteMeta(process) + `",[^}]*?"pid": (\d+)`).FindSubmatch(out)
	require.NotNil(r.t, m, "%s", out)
	var pid int
	_, err = fmt.Fscan(bytes.NewReader(m[1]), &pid)
	require.NoError(r.t, err)
	require.NoError(r.t, syscall.Kill(pid, syscall.SIGSTOP))
}

func TestAStoppedProcess(t *testing.T) {
	chromium(t)
	const heading = "A stopped process"
	r := begin(t, "-n 2 -r 1 -stuck 2s", "waits forever")
	ctx := open(t, r.url)
	shows(t, ctx, cells("w", 1))
	r.stop("0.0")
	shows(t, ctx, cells("t", 1))
	r.saysAsDocumented(ctx, heading)
	r.saysOf(ctx, "0.0", "stopped")
	shows(t, ctx, nothing)
	picture(t, ctx, "stopped")
	r.interrupt()
	require.NotContains(t, r.said(), "deadlock")
}

// The host of the job is a network namespace. The browser reaches the page by a proxy into
// it.
func TestALostHost(t *testing.T) {
	chromium(t)
	n := netns.Test(t, 2)
	h1, h2 := n.Hosts[0], n.Hosts[1]
	r := run(t, "ip", "netns", "exec", h1.Name, built(t, "intrarun"), "-http", ":8080", "-rsh", "ip netns exec {host}",
		"-hosts", h1.Name+":2,"+h2.Name+":2", "-n", "2", "-r", "2", built(t, "hpccg"), "-nx", "24", "-ny", "24", "-nz", "24", "-iters", "1000000")
	r.where = []string{"ip", "netns", "exec", h1.Name}
	ctx := open(t, within(t, h1, r.url))
	shows(t, ctx, text("#numbers", `4 \/ 4\s+processes live`))
	shows(t, ctx, "history.length > 10")
	require.NoError(t, h2.Kill())
	shows(t, ctx, text("#numbers", `2 \/ 4\s+processes live`))
	shows(t, ctx, cells("x", 2))
	for _, p := range []string{"0.1", "1.1"} {
		shows(t, ctx, event("death", regexp.QuoteMeta(p)+` died \(host\): .*`+h2.Name))
	}
	who := regexp.MustCompile(`(?m)^(  \d\.\d ).*$`) // the activity of each process changes all the time
	r.awaitStatus(documented(t, "A lost host", 0), func(text string) string { return alike(who.ReplaceAllString(text, "$1")) })
	require.NoError(t, chromedp.Run(ctx, chromedp.Click(`.cell[data-process="1.0"]`)))
	shows(t, ctx, text("#detail", `1\.0 on `+h1.Name+`, pid \d+\n`))
	picture(t, ctx, "host")
	r.interrupt()
}

// The namespace of a process is that of its first thread. So that thread must not change:
// the test kills all processes of a host.
func init() { runtime.LockOSThread() }

// within makes a page that is served on a host reachable for the browser, and returns its address
// there.
func within(t *testing.T, h *netns.Host, page string) string {
	to, err := url.Parse(page)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		done := make(chan struct{})
		go func() { // on a thread of its own, which stays in the namespace and is not reused
			defer close(done)
			runtime.LockOSThread()
			var space *os.File
			if space, err = os.Open("/var/run/netns/" + h.Name); err != nil {
				return
			}
			defer space.Close()
			if err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err == nil {
				c, err = new(net.Dialer).DialContext(ctx, network, addr)
			}
		}()
		<-done
		return c, err
	}}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.CloseClientConnections)
	return s.URL
}
