package launch

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/livepage"
)

// A head that takes over serves the page on its own host, and announces it. It uses the same
// port, or another one if that port is taken.
func TestPageMovesWithTheHead(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, c := range map[string]struct {
		at     livepage.Address
		others int
		want   string
	}{
		"loopback":   {livepage.Address{Listen: "127.0.0.1:0"}, 0, "http://127.0.0.1:"},
		"everywhere": {livepage.Address{Listen: "0.0.0.0:0", Token: "secretsecret"}, 2, "http://10.0.0.2:"},
		"taken":      {livepage.Address{Listen: taken.Addr().String()}, 0, "http://127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			s := inherit(t, []agentd.ProcessResync{resynced(0, agentd.ProcessResync{State: agentlog.State{PID: 100, Joined: true, Voiced: true}})}, nil)
			s.job.Page = &c.at
			w := s.goOn(t)
			require.NotNil(t, w.page)
			defer w.page.Close()
			require.True(t, strings.HasPrefix(w.pageURL, c.want), w.pageURL)
			require.Equal(t, w.pageURL, w.status().Page)
			w.renewPage()
			r, err := http.Get(strings.Replace(w.pageURL, "10.0.0.2", "127.0.0.1", 1))
			require.NoError(t, err)
			r.Body.Close()
			require.Equal(t, 200, r.StatusCode)
			w.console.Close()
			require.Contains(t, s.out.err.String(), "the live page is at "+w.pageURL)
			if name == "taken" {
				require.Contains(t, s.out.err.String(), "warning: the live page is at another port")
			}
		})
	}
}

// BenchmarkPage measures the cost of one update of the page of a job of 256 processes, sent to
// one viewer. Divided by livepage.Every, it is the page's share of a core.
func BenchmarkPage(b *testing.B) {
	j := Job{Links: Links{Kind: job.LinkSHM}, Quiet: true}
	for range 128 {
		j.Degrees = append(j.Degrees, 2)
	}
	d := newDesk(b, j)
	d.step(head.Begin{})
	for _, p := range job.Processes(j.Degrees) {
		d.step(head.Started{From: of(p.Rank, p.Replica, 1), PID: 100})
		d.step(head.Joined{From: of(p.Rank, p.Replica, 1), Hello: &job.Hello{PID: 100}})
	}
	var err error
	d.page, err = livepage.Listen(livepage.Address{Listen: "127.0.0.1:0"}, d.described())
	require.NoError(b, err)
	defer d.page.Close()
	d.renewPage()
	at := d.page.Address()
	r, err := http.Get(at.URL("") + "events")
	require.NoError(b, err)
	defer r.Body.Close()
	events := bufio.NewScanner(r.Body)
	events.Buffer(nil, 1<<20)
	frame := func() {
		for events.Scan() && events.Text() != "event: frame" {
		}
		require.NoError(b, events.Err())
	}
	frame()
	tasks := int64(0)
	for b.Loop() {
		b.StopTimer()
		tasks++
		for _, p := range job.Processes(j.Degrees) {
			st := &job.Stats{Sections: tasks, TasksRun: tasks, UpdateBytes: tasks << 20, TaskTypes: make(map[string]job.TaskStats),
				Doing: &job.Doing{State: job.StateSection, Section: uint64(tasks), At: "solver.go:105", Done: tasks, Total: 1 << 40}}
			for _, k := range []string{"waxpby", "ddot", "sparsemv", "pack", "unpack", "norm"} {
				st.TaskTypes[k] = job.TaskStats{Run: tasks, Seconds: float64(tasks), SectionSeconds: float64(tasks), AloneSeconds: float64(tasks), Decision: "share"}
			}
			d.step(head.Said{From: of(p.Rank, p.Replica, 1), Message: &job.Message{Kind: job.KindStats, Stats: st}})
		}
		b.StartTimer()
		d.renewPage()
		frame()
	}
}
