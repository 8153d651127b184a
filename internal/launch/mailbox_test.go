package launch

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

// manyPeers is a message that names n processes.
func manyPeers(n int) *job.Message {
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

func (u unheardOf) unheard(p job.Process, s silence) {
	u.why <- fmt.Sprintf("%v %s: %s", p, s.Why, s.Text)
}

// controlled is a process's end of its control connection.
func controlled(t *testing.T) (head, process *job.Conn) {
	head, f, err := job.Pair()
	require.NoError(t, err)
	process, err = job.NewConn(f)
	require.NoError(t, err)
	f.Close()
	t.Cleanup(func() { head.Close(); process.Close() })
	return head, process
}

func TestMailboxOfALargeJob(t *testing.T) {
	head, process := controlled(t)
	box := newMailbox(head, func(err error) { t.Error(err) })
	defer box.close()
	box.send(manyPeers(10_000))
	m, _, err := process.Read()
	require.NoError(t, err)
	require.Len(t, m.Peers, 10_000)
}

// A message that cannot be sent is told, and what comes after it is not sent as
// if it had been.
func TestMailboxTellsWhatItCannotSend(t *testing.T) {
	head, process := controlled(t)
	told := make(chan error, 3)
	box := newMailbox(head, func(err error) { told <- err })
	defer box.close()
	box.send(&job.Message{Kind: job.KindEnd, Text: strings.Repeat("x", job.MaxMessage)})
	box.send(&job.Message{Kind: job.KindRelease})
	require.ErrorContains(t, <-told, `"end" has `)
	head.Close()
	_, _, err := process.Read()
	require.Equal(t, io.EOF, err)

	gone, _ := controlled(t)
	gone.Close()
	box = newMailbox(gone, func(err error) { told <- err })
	box.send(&job.Message{Kind: job.KindRelease})
	r, w, err := os.Pipe()
	require.NoError(t, err)
	box.send(&job.Message{Kind: job.KindArena}, w) // is closed once the message before has come to nothing
	_, err = r.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.Empty(t, told, "the end of a connection is seen by its reader")
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
	r.send(p, manyPeers(100_000))
	f, err := there.Read()
	require.NoError(t, err)
	m, err := job.DecodeMessage(f.Body)
	require.NoError(t, err)
	require.Len(t, m.Peers, 100_000)

	r.send(p, &job.Message{Kind: job.KindEnd, Text: strings.Repeat("x", job.MaxMessage)})
	require.Regexp(t, `^3\.1 untold: .*"end" has 167\d+ bytes, at most 16777216 are allowed`, <-heard.why)
	r.send(p, &job.Message{Kind: job.KindRelease})
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
	go h.unheard(p, silence{silenceUntold, `"start" is too long`})
	(<-h.posts)()
	require.Equal(t, []string{"1.1 killed"}, a.sent)
	require.Equal(t, &ending{job.CauseFenced, `it cannot be told what it has to know: "start" is too long`}, m.ending)
}

// signals notes the signals that processes are sent.
type signals struct {
	agent
	sent []string
}

func (s *signals) signal(p job.Process, sig syscall.Signal) {
	s.sent = append(s.sent, fmt.Sprintf("%v %v", p, sig))
}

// Whatever the text of a death is made of, it can be kept, and so can the reason
// why a set of files was given up.
func TestTextsThatGrowWhenTheyAreKept(t *testing.T) {
	for _, text := range []string{"x", "\x00", "\xff", "é", "<", `"`, "\u2028", "😀"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			long := strings.Repeat(text, 64<<10)
			h, s := decider(t, []int{1})
			h.files.write = new(job.Files)
			h.decide(arbiter.Entry{Kind: arbiter.Died, Cause: job.CausePanic, Text: long}, func() {})
			h.decide(arbiter.Entry{Kind: arbiter.Decided, Code: 1, Text: long}, func() {})
			h.files.abandon(1, long)
			h.keepAll()
			require.False(t, h.retired, h.ledger.text)
			require.NotEmpty(t, s.Text)
			heir, _ := decider(t, []int{1})
			_, err := heir.inherit(s)
			require.NoError(t, err)
			require.Len(t, heir.files.given, 1)
		})
	}
}
