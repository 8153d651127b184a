package launch

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/spawn"
	"github.com/intrahpc/intra/internal/supervise"
)

// Whatever an agent says, the head does not panic.
func FuzzRemote(f *testing.F) {
	for k := agentwire.KindPlan; k <= agentwire.KindPlay; k++ {
		f.Add(byte(k), 0, 0, []byte(`{}`))
		f.Add(byte(k), 0, 0, agentwire.Number(1))
		f.Add(byte(k), 1, 0, []byte{0})
	}
	f.Add(byte(agentwire.KindMessage), 0, 0, []byte(`{"kind":"finish","stats":{}}`))
	f.Fuzz(func(t *testing.T, kind byte, rank, replica int, body []byte) {
		a, b := net.Pipe()
		go io.Copy(io.Discard, b)
		r := newRemote(&job.Host{Name: "h"}, agentwire.NewConn(a))
		r.observer, r.news = deafObserver{}, func(spawn.News) {}
		close(r.serving)
		r.Start(agentwire.Name{Incarnation: 1}, supervise.First)
		_ = r.take(&agentwire.Frame{Kind: agentwire.Kind(kind), Of: agentwire.Name{ID: job.Process{Rank: rank, Replica: replica}, Incarnation: 1}, Body: body})
		r.declareLost()
		b.Close()
	})
}

// deafObserver takes everything and does nothing.
type deafObserver struct{}

func (deafObserver) Started(agentwire.Name, int, string)          {}
func (deafObserver) Hello(agentwire.Name, *job.Hello)             {}
func (deafObserver) Message(agentwire.Name, *job.Message)         {}
func (deafObserver) Unheard(agentwire.Name, supervise.Silence)    {}
func (deafObserver) Output(agentwire.Name, output.Stream, []byte) {}
func (deafObserver) Quiet(agentwire.Name, uint64)                 {}
func (deafObserver) Stopped(agentwire.Name, time.Duration)        {}
func (deafObserver) ProgramGone(agentwire.Name)                   {}
func (deafObserver) Exited(agentwire.Name, supervise.Exit)        {}
func (deafObserver) Failed(error)                                 {}
func (deafObserver) Disconnected(error)                           {}

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

func (u unheardOf) Unheard(of agentwire.Name, s supervise.Silence) {
	u.why <- fmt.Sprintf("%v %s: %s", of.ID, s.Why, s.Text)
}

// What the agent of another host is to pass on arrives there, or the head hears
// that it does not, and of which process.
func TestLargeMessagesToAnotherHost(t *testing.T) {
	a, b := net.Pipe()
	heard := unheardOf{why: make(chan string, 1)}
	r := newRemote(&job.Host{Name: "h"}, agentwire.NewConn(a))
	r.observer = heard
	close(r.serving)
	p := agentwire.Name{ID: job.Process{Rank: 3, Replica: 1}, Incarnation: 1}
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
