package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/livepage"
)

// deadline bounds each test, which runs whole jobs and a browser on a machine that may be
// busy.
const deadline = 3 * time.Minute

// chromium finds a browser that runs without a window.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const none = "no Chromium here (Debian: apt-get install chromium-headless-shell)"
	if os.Getenv("CI") != "" {
		t.Fatal(none)
	}
	t.Skip(none)
	return ""
}

// open opens a page.
func open(t *testing.T, url string) context.Context {
	// The context is not that of the test, which ends before the browser can be closed. A
	// Chromium that is started by a script would then survive.
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(profile(t)), chromedp.NoSandbox, chromedp.WindowSize(1280, 300))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
	})
	require.NoError(t, chromedp.Run(ctx, chromedp.Navigate(url)))
	return ctx
}

// profile makes a folder for the data of a browser. It removes the folder repeatedly,
// because processes of Chromium may still write to their cache after the first one has
// ended.
func profile(t *testing.T) string {
	dir, err := os.MkdirTemp("", "intra-browser")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return os.RemoveAll(dir) == nil }, deadline, 100*time.Millisecond, "remove %s", dir)
	})
	return dir
}

// shows waits until an expression of JavaScript is true on the page.
func shows(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	require.NoError(t, chromedp.Run(ctx, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(deadline))), "%s", expression)
}

// text returns the condition that an element has a text that matches.
func text(selector, re string) string {
	return fmt.Sprintf("/%s/.test(document.querySelector(%q).innerText)", re, selector)
}

// cells returns the condition that the page shows n processes in a state.
func cells(state string, n int) string {
	return fmt.Sprintf("document.querySelectorAll('.cell[data-state=%q]').length === %d", state, n)
}

// picture takes a picture of the whole page for the documents, if requested.
func picture(t *testing.T, ctx context.Context, name string) {
	if os.Getenv("INTRA_PICTURES") == "" {
		return
	}
	var b []byte
	require.NoError(t, chromedp.Run(ctx, chromedp.FullScreenshot(&b, 100)))
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "see", name+".png"), b, 0o644))
}

// running is an intrarun that runs a job.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	mu  sync.Mutex
	err strings.Builder
	url string

	where []string // prefix that runs a command on the host of the head; empty: on this host
}

// Write receives the standard error of intrarun.
func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err.Write(b)
}

func (r *running) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err.String()
}

var at = regexp.MustCompile(`the live page is at (\S+)\n`)

// begin begins a job with a page, and waits for its address. program is a program with its
// arguments.
func begin(t *testing.T, flags, program string) *running {
	words := strings.Fields(program)
	return run(t, append([]string{built(t, "intrarun"), "-http", ":0"}, append(strings.Fields(flags), append([]string{built(t, words[0])}, words[1:]...)...)...)...)
}

// run runs a command line that begins a job with a page.
func run(t *testing.T, line ...string) *running {
	r := &running{t: t}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	r.cmd = exec.CommandContext(ctx, line[0], line[1:]...)
	r.cmd.Stderr = r
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // an error means that it has ended
	require.Eventually(t, func() bool {
		if m := at.FindStringSubmatch(r.said()); m != nil {
			r.url = m[1]
		}
		return r.url != ""
	}, deadline, 20*time.Millisecond, "%v", line)
	return r
}

// interrupt ends the job.
func (r *running) interrupt() {
	require.NoError(r.t, r.cmd.Process.Signal(syscall.SIGTERM))
	_ = r.cmd.Wait() // with exit code 143
	require.NotContains(r.t, r.said(), "panic")
}

// The page shows the events of the processes of a job as they happen, and the report at the
// end.
func TestAJobWithADeath(t *testing.T) {
	chromium(t)
	r := begin(t, "-n 3 -r 2 -replace -kill 1.1@6s", "hpccg -nx 24 -ny 24 -nz 24 -iters 1000000")
	ctx := open(t, r.url)
	shows(t, ctx, text("#sub", "3 ranks, 6 processes"))
	shows(t, ctx, text("#numbers", `6 \/ 6\s+processes live`))
	shows(t, ctx, text("#numbers", `\d+ \/ 999999\s+done`))
	shows(t, ctx, text("#events", `1\.1 died \(injected\): killed on request`))
	shows(t, ctx, text("#events", `1\.1 is back`))
	shows(t, ctx, text("#kernels", `sparsemv`))
	shows(t, ctx, text("#ratehead", `[kMG]B\/s in all`))
	require.NoError(t, chromedp.Run(ctx, chromedp.Click(`.cell[data-process="0.1"]`)))
	shows(t, ctx, text("#detail", `0\.1 on \S+, pid \d+\n`))
	shows(t, ctx, "history.length > 20")
	picture(t, ctx, "page-running")

	r.interrupt()
	shows(t, ctx, text("#report", `exit code +143`))
	shows(t, ctx, text("#report", `1\.1 died`))
	picture(t, ctx, "page-end")
}

// The page shows all processes of a job with a thousand processes, and is fast enough for
// it.
func TestAThousandProcesses(t *testing.T) {
	chromium(t)
	const ranks = 500
	status := runreport.Status{Alive: 2 * ranks, E: 0.8}
	for range ranks {
		status.Degrees = append(status.Degrees, 2)
	}
	s, err := livepage.Listen(livepage.Address{Listen: "127.0.0.1:0"}, livepage.Job{Program: "large", Degrees: status.Degrees})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	address := s.Address()
	ctx := open(t, address.URL(""))
	states := []job.State{job.StateSection, job.StateSection, job.StateSection, job.StateRuns, job.StateSafePoint, job.StateFinished}
	for tick := range 40 {
		r := &runreport.Report{Degrees: status.Degrees, TaskTypes: make(map[string]runreport.TaskType)}
		status.Elapsed, status.Processes = float64(tick)/2, nil
		for i, p := range job.Processes(status.Degrees) {
			d := &job.Doing{State: states[(i*7+tick*i/3)%len(states)], At: "large.go:7"}
			status.Processes = append(status.Processes, runreport.ProcessStatus{Process: p, Host: "h1", State: string(d.State), Doing: d})
			r.Add(runreport.Process{Process: p, Incarnation: 1}, job.Stats{UpdateBytes: int64(tick) * int64(5e5+1e3*float64(i%91)),
				TaskTypes: map[string]job.TaskStats{"kernel": {Run: int64(tick), Seconds: float64(tick), Decision: "share"}}})
		}
		s.Update(status, r)
		time.Sleep(50 * time.Millisecond)
	}
	shows(t, ctx, "document.querySelectorAll('.cell[data-state]').length === 1000")
	shows(t, ctx, text("#numbers", `1000 \/ 1000\s+processes live`))
	shows(t, ctx, "last.t === 19.5")
	var took float64 // time to draw a frame
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate("(() => { const from = performance.now(); for (let i = 0; i < 10; i++) frame(last); return (performance.now() - from) / 10; })()", &took)))
	t.Logf("a frame takes the browser %.1f ms", took)
	picture(t, ctx, "page-large")
}

// A page that needs a token shows nothing without it.
func TestToken(t *testing.T) {
	chromium(t)
	s, err := livepage.Listen(livepage.Address{Listen: "127.0.0.1:0", Token: "0123456789abcdef"}, livepage.Job{Program: "heat", Degrees: []int{1}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	address := s.Address()
	ctx := open(t, address.URL(""))
	shows(t, ctx, text("#sub", "1 ranks, 1 processes"))
	without, _, _ := strings.Cut(address.URL(""), "?")
	require.NoError(t, chromedp.Run(ctx, chromedp.Navigate(without)))
	shows(t, ctx, text("body", "needs its token"))
}
