package livepage

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

func serve(t *testing.T, a Address) *Server {
	s, err := Listen(a, Job{Program: "heat", Degrees: []int{2, 1}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

var here = Address{Listen: "127.0.0.1:0"}

// url returns the URL of a path on the server.
func (s *Server) url(path string) string {
	at := s.Address()
	base, query, _ := strings.Cut(at.URL(""), "/?")
	base = strings.TrimSuffix(base, "/") + path
	if query != "" {
		base += "?" + query
	}
	return base
}

func get(t *testing.T, url string) (int, string, http.Header) {
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(b), r.Header
}

// stream reads server-sent events.
type stream struct {
	t *testing.T
	r *bufio.Scanner
}

func watch(t *testing.T, url string) *stream {
	r, err := http.Get(url)
	require.NoError(t, err)
	t.Cleanup(func() { r.Body.Close() })
	require.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
	s := bufio.NewScanner(r.Body)
	s.Buffer(nil, 1<<20)
	return &stream{t, s}
}

// next reads the next event of a kind into x. It skips events of other kinds.
func (s *stream) next(kind string, x any) {
	for {
		var text [3]string
		for i := range text {
			require.True(s.t, s.r.Scan(), "%v", s.r.Err())
			text[i] = s.r.Text()
		}
		require.Empty(s.t, text[2])
		if text[0] == "event: "+kind {
			require.NoError(s.t, json.Unmarshal([]byte(strings.TrimPrefix(text[1], "data: ")), x))
			return
		}
	}
}

func TestPage(t *testing.T) {
	for _, a := range []Address{here, {Listen: "127.0.0.1:0", Token: secret}} {
		s := serve(t, a)
		code, text, header := get(t, s.url("/"))
		require.Equal(t, 200, code)
		require.Contains(t, text, "EventSource")
		require.Equal(t, "text/html; charset=utf-8", header.Get("Content-Type"))
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'")
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			require.Equal(t, "data:,", m[1], "the page needs no other server")
		}
		code, _, _ = get(t, s.url("/none"))
		require.Equal(t, 404, code)
	}
	s := serve(t, Address{Listen: "127.0.0.1:0", Token: secret})
	for _, path := range []string{"/", "/metrics", "/status.json", "/events", "/none"} {
		code, text, header := get(t, strings.Replace(s.url(path), secret, "another", 1))
		require.Equal(t, 401, code, path)
		require.Contains(t, text, "needs its token")
		require.Equal(t, "Bearer", header.Get("WWW-Authenticate"))
	}
	_, err := Listen(s.Address(), Job{})
	require.ErrorContains(t, err, "-http :0 takes a free port")
	_, err = Listen(Address{Listen: "192.0.2.1:0", Token: secret}, Job{}) // an address of no host
	require.ErrorContains(t, err, "0.0.0.0")
}

func TestStatusJSON(t *testing.T) {
	s := serve(t, here)
	status := runreport.Status{Degrees: []int{2, 1}, Alive: 2, Processes: []runreport.ProcessStatus{{Process: process(0, 0)}, {Process: process(1, 0), Host: "h7"}}}
	s.Update(status, aReport(0))
	var got runreport.Status
	_, text, _ := get(t, s.url("/status.json"))
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Equal(t, status, got)
	_, text, _ = get(t, s.url("/status.json?process=1.0"))
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Equal(t, status.Processes[1:], got.Processes)
	code, _, _ := get(t, s.url("/status.json?process=x"))
	require.Equal(t, 400, code)
}

// A viewer receives past and present events, and the end of the job. No viewer misses an
// event, however late it connects.
func TestEvents(t *testing.T) {
	s := serve(t, here)
	early := watch(t, s.url("/events"))
	var about struct {
		Job
		History []Sample
	}
	early.next("job", &about)
	require.Equal(t, "heat", about.Program)
	require.Empty(t, about.History)
	s.Among([]string{"h2"}, []string{"http://h2/"})
	status := runreport.Status{Degrees: []int{2, 1}, Elapsed: 1, Alive: 3}
	s.Update(status, aReport(0))
	var f Frame
	early.next("frame", &f)
	require.Equal(t, 3, f.Alive)
	r := aReport(10)
	for i := range 3 {
		r.Failures = append(r.Failures, runreport.Failure{Process: process(0, 1), At: float64(i), Cause: job.CauseSignal})
		status.Elapsed++
		s.Update(status, r)
	}
	late := watch(t, s.url("/events"))
	late.next("job", &about)
	require.Len(t, about.History, 4)
	require.Equal(t, []string{"h2"}, about.Hosts)
	for _, who := range []*stream{early, late} {
		for i := range 3 {
			var e Event
			who.next("event", &e)
			require.InDelta(t, i, e.Time, 1e-9)
			require.Equal(t, "death", e.Kind)
		}
	}
	r.ExitCode, r.Error = 3, "rank 0 has lost its last replica"
	s.End(r)
	for _, who := range []*stream{early, late} {
		var over end
		who.next("end", &over)
		require.Equal(t, 3, over.Code)
		require.Contains(t, over.Text, "exit code  3: rank 0 has lost its last replica")
		require.Equal(t, r.Failures[2].At, over.Report.Failures[2].At)
		require.False(t, who.r.Scan(), "the stream has ended")
	}
	_, err := http.Get(s.url("/"))
	require.Error(t, err, "the server has stopped")
}

// A viewer that does not read delays no other viewer.
func TestSlowViewerDelaysNoOther(t *testing.T) {
	s := serve(t, here)
	r, err := http.Get(s.url("/events"))
	require.NoError(t, err)
	defer r.Body.Close()
	status, report := largeJob(8)
	for range 1000 { // more than all buffers hold
		report.Failures = append(report.Failures, runreport.Failure{Detail: strings.Repeat("x", 10_000)})
	}
	for range 10 {
		status.Elapsed++
		s.Update(*status, report)
	}
	s.End(report)
}

// The metrics follow Prometheus's rules, and docs/see.md lists all of them.
func TestMetrics(t *testing.T) {
	s := serve(t, here)
	code, text, _ := get(t, s.url("/metrics"))
	require.Equal(t, 200, code)
	require.NotContains(t, text, "intra_", "there is no update yet")
	r := aReport(1234)
	r.Failures = []runreport.Failure{{Process: process(0, 1), Cause: job.CauseSignal}, {Process: process(0, 1), Cause: job.CauseHost}, {Process: process(0, 1), Cause: job.CauseHost}}
	r.Drains, r.Joins = []runreport.Drain{{Host: "h1", Seconds: 2}, {Host: "h2"}, {Host: "h3"}}, []runreport.Join{{Host: "h4", Slots: 2}}
	s.Update(runreport.Status{Degrees: []int{2, 1}, Replicas: []int{1, 1}, Elapsed: 2.5, E: 0.75, Replaced: 2, Outlook: runreport.Outlook{Done: 1, Total: 4},
		Processes: []runreport.ProcessStatus{{Process: process(0, 0), State: "runs"}, {Process: process(1, 0), State: "runs"}, {Spare: true, State: "waiting"}}}, r)
	code, text, _ = get(t, s.url("/metrics"))
	require.Equal(t, 200, code, text)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	for _, line := range []string{
		`intra_processes{state="runs"} 2`, `intra_places 3`, `intra_elapsed_seconds 2.5`, `intra_efficiency_ratio 0.75`, `intra_progress_ratio 0.25`,
		`intra_deaths_total{cause="host"} 2`, `intra_deaths_total{cause="signal"} 1`, `intra_replacements_total 2`, `intra_rollbacks_total 0`,
		`intra_hosts_joined_total 1`, `intra_drains{state="left"} 1`, `intra_drains{state="leaving"} 2`, `intra_replicas{rank="1"} 1`,
		`intra_sections_total 4`, `intra_tasks_run_total 9`, `intra_update_bytes_total{rank="0",replica="0"} 1234`,
		`intra_kernel_tasks_run_total{kernel="ddot"} 8`, `intra_kernel_saved_seconds{kernel="ddot"} 1`, `intra_kernel_efficiency_ratio{kernel="ddot"} 0.75`,
		`intra_kernel_shared{kernel="ddot"} 1`, `intra_kernel_shared{kernel="waxpby"} 0`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	var served []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(text, -1) {
		served = append(served, m[1])
	}
	doc, err := os.ReadFile("../../../docs/see.md")
	require.NoError(t, err)
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(intra_[a-z_]+)").FindAllStringSubmatch(string(doc), -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(served)
	slices.Sort(listed)
	require.Equal(t, served, listed)
}
