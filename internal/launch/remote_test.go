package launch

import (
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/spawn"
	"github.com/intrahpc/intra/internal/supervise"
)

// Whatever an agent says, the head does not panic.
func FuzzRemote(f *testing.F) {
	for k := agentwire.KindPlan; k <= agentwire.KindNews; k++ {
		f.Add(byte(k), 0, 0, []byte(`{}`))
		f.Add(byte(k), 0, 0, agentwire.Number(1))
		f.Add(byte(k), 1, 0, []byte{0})
	}
	f.Add(byte(agentwire.KindMessage), 0, 0, []byte(`{"kind":"finish","stats":{}}`))
	f.Fuzz(func(t *testing.T, kind byte, rank, replica int, body []byte) {
		a, b := net.Pipe()
		go io.Copy(io.Discard, b)
		r := newRemote(&job.Host{Name: "h"}, agentwire.NewConn(a))
		r.observer, r.lost, r.news = deafObserver{}, func(string, *evidence) {}, func(spawn.News) {}
		close(r.serving)
		r.Start(job.Process{}, supervise.First)
		_ = r.take(&agentwire.Frame{Kind: agentwire.Kind(kind), Process: job.Process{Rank: rank, Replica: replica}, Body: body})
		r.declareLost("over", nil)
		b.Close()
	})
}

// largeMessage is a message that names n processes.
func largeMessage(n int) *job.Message {
	m := &job.Message{Kind: job.KindStart}
	for i := range n {
		m.Peers = append(m.Peers, job.Peer{Process: job.Process{Rank: i}, Incarnation: 1, Link: job.LinkTCP, Address: "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"})
	}
	return m
}

// unheardOf notes why nothing more comes from, or gets to, processes.
type unheardOf struct {
	deafObserver
	why chan string
}

func (u unheardOf) Unheard(p job.Process, s supervise.Silence) {
	u.why <- fmt.Sprintf("%v %s: %s", p, s.Why, s.Text)
}

// What the agent of another host is to pass on arrives there, or the head hears
// that it does not, and of which process.
func TestLargeMessagesToAnotherHost(t *testing.T) {
	a, b := net.Pipe()
	heard := unheardOf{why: make(chan string, 1)}
	r := newRemote(&job.Host{Name: "h"}, agentwire.NewConn(a))
	r.observer = heard
	close(r.serving)
	p := job.Process{Rank: 3, Replica: 1}
	there := agentwire.NewConn(b)
	defer there.Close()
	r.Send(p, largeMessage(100_000))
	f, err := there.Read()
	require.NoError(t, err)
	m, err := job.DecodeMessage(f.Body)
	require.NoError(t, err)
	require.Len(t, m.Peers, 100_000)

	r.Send(p, &job.Message{Kind: job.KindEnd, Text: strings.Repeat("x", job.MaxMessage)})
	require.Regexp(t, `^3\.1 untold: .*"end" has 167\d+ bytes, at most 16777216 are allowed`, <-heard.why)
	r.Send(p, &job.Message{Kind: job.KindRelease})
	f, err = there.Read()
	require.NoError(t, err)
	require.Equal(t, agentwire.KindMessage, f.Kind)
	require.Less(t, len(f.Body), 1000, "the connection is as good as before")
}

// A process that cannot be told what it has to know is ended, which the job
// survives if others have the rank.
func TestProcessThatCannotBeTold(t *testing.T) {
	h := newHead(&Config{Degrees: []int{1, 2}, Stdout: io.Discard, Stderr: io.Discard}, job.NewSecret())
	a := &signals{agent: absent(&job.Host{Name: "x"})}
	h.enlist(func(job.Process) (agent, *job.Host) { return a, nil })
	h.phase = working
	p := job.Process{Rank: 1, Replica: 1}
	m := h.members[p]
	m.hello = new(job.Hello)
	go h.Unheard(p, supervise.Silence{Why: supervise.SilenceUntold, Text: `"start" is too long`})
	(<-h.posts)()
	require.Equal(t, []string{"1.1 killed"}, a.sent)
	require.Equal(t, &ending{job.CauseFenced, `it cannot be sent a message that it needs: "start" is too long`}, m.ending)
}

// signals notes the signals that processes are sent.
type signals struct {
	agent
	sent []string
}

func (s *signals) Signal(p job.Process, sig syscall.Signal) {
	s.sent = append(s.sent, fmt.Sprintf("%v %v", p, sig))
}
