package job

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/lease"
)

// heads acts as the head for one process of a job, in this process.
type heads struct {
	conn   *Conn
	secret Secret
	in     Inheritance
}

func newHead(t *testing.T, secret Secret) *heads {
	conn, control, err := Pair()
	require.NoError(t, err)
	f, err := secret.File()
	require.NoError(t, err)
	_, crash, err := os.Pipe()
	require.NoError(t, err)
	h := &heads{conn, secret, Inheritance{Control: control, Secret: f, Crash: crash}}
	t.Cleanup(func() { h.conn.Close(); h.in.Close() })
	return h
}

// admit completes the handshake with the process.
func (h *heads) admit(t *testing.T, setup Setup) *Session {
	answered := make(chan error, 1)
	go func() {
		_, err := Answer(h.conn, &h.secret)
		if err == nil {
			err = h.conn.Write(&Message{Kind: KindSetup, Setup: &setup})
		}
		answered <- err
	}()
	s, err := newSession(t.Context(), h.in, Hello{})
	require.NoError(t, err)
	require.NoError(t, <-answered)
	t.Cleanup(func() { s.Close() })
	return s
}

func (h *heads) read(t *testing.T, kind Kind) *Message {
	m, _, err := h.conn.Read()
	require.NoError(t, err)
	require.Equal(t, kind, m.Kind)
	return m
}

func TestJoinWithoutALauncher(t *testing.T) {
	s, err := Join(t.Context(), Hello{})
	require.NoError(t, err)
	require.Nil(t, s)
	for _, v := range []string{"", "3", "0,1,2", "900,901,902", "-1,2,3"} {
		t.Setenv(EnvControl, v)
		_, err := Join(t.Context(), Hello{})
		require.ErrorContains(t, err, "join the job", v)
		_, set := os.LookupEnv(EnvControl)
		require.False(t, set, "child processes must not inherit it")
	}
}

// Counts that were taken before a process finished do not reach the head later. The head
// would compare them with those of other replicas.
func TestCountsDoNotComeLate(t *testing.T) {
	h := newHead(t, NewSecret())
	s := h.admit(t, Setup{Self: Process{0, 0}, Incarnation: 1, Degrees: []int{1}})
	taken, finish := make(chan struct{}), make(chan error, 1)
	s.Stats(func() Stats {
		close(taken)
		go func() { finish <- s.Finish(Stats{Sections: 2}) }()
		time.Sleep(10 * time.Millisecond) // so that Finish is probably first
		return Stats{Sections: 1}
	})
	<-taken
	require.EqualValues(t, 1, h.read(t, KindStats).Stats.Sections)
	require.EqualValues(t, 2, h.read(t, KindFinish).Stats.Sections)
	require.NoError(t, <-finish)
}

func TestSessionSendsAndReceives(t *testing.T) {
	h := newHead(t, NewSecret())
	s := h.admit(t, Setup{Self: Process{0, 0}, Incarnation: 1, Degrees: []int{2}})

	v := Verdict{Epoch: 1, Process: Process{0, 1}, Cause: CauseSignal, Detail: "d"}
	for _, m := range []*Message{{Kind: KindVerdict, Verdict: &v}, {Kind: KindRelease}, {Kind: KindEnd, Code: 3, Text: "t"}} {
		require.NoError(t, h.conn.Write(m))
	}
	for _, want := range []Event{v, Release{}, End{3, "t"}} {
		e, err := s.Next()
		require.NoError(t, err)
		require.Equal(t, want, e)
	}

	k := Kill{Process: Process{0, 0}, Point: KillTask, Count: 7}
	s.Stats(func() Stats { return Stats{Sections: 1} })
	require.EqualValues(t, 1, h.read(t, KindStats).Stats.Sections)
	s.Fired(k, Stats{Sections: 2})
	require.Equal(t, k, *h.read(t, KindFired).Kill)
	s.Suspect(Endpoint{Process{0, 1}, 1}, io.ErrUnexpectedEOF)
	require.Equal(t, io.ErrUnexpectedEOF.Error(), h.read(t, KindSuspect).Text)
	failed := make(chan error)
	go func() { failed <- s.Fail(Failure{FailPanic, string(make([]byte, 2*maxText))}, Stats{}) }()
	require.Less(t, len(h.read(t, KindFail).Failure.Text), 2*maxText)
	require.NoError(t, <-failed)
	require.NoError(t, s.Finish(Stats{Sections: 3}))
	require.EqualValues(t, 3, h.read(t, KindFinish).Stats.Sections)
	s.Handled(1)
	require.EqualValues(t, 1, h.read(t, KindHandled).Epoch)
	require.NoError(t, s.Drained())
	h.read(t, KindDrained)

	h.conn.Close()
	_, err := s.Next()
	require.ErrorIs(t, err, ErrHeadGone)
	require.ErrorIs(t, err, io.EOF)
	require.Error(t, s.Finish(Stats{}))
}

func TestConnectIsRefused(t *testing.T) {
	h := newHead(t, NewSecret())
	s := h.admit(t, Setup{Degrees: []int{2}})
	require.NoError(t, h.conn.Write(&Message{Kind: KindRefuse, Text: "different builds"}))
	_, err := s.Connect(t.Context())
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "different builds")
}

func TestConnectOverTCP(t *testing.T) {
	secret := NewSecret()
	degrees := []int{2, 1, 1}
	all := Processes(degrees)
	hs := make([]*heads, len(all))
	ss := make([]*Session, len(all))
	peers := make([]Peer, len(all))
	for i, p := range all {
		hs[i] = newHead(t, secret)
		ss[i] = hs[i].admit(t, Setup{Self: p, Incarnation: 1, Degrees: degrees, Listen: "127.0.0.1:0"})
		peers[i] = Peer{Process: p, Incarnation: 1, Link: LinkTCP, Address: hs[i].read(t, KindListen).Address}
	}
	// Strangers: one sends nothing, one sends bytes of another protocol, one is a member of
	// another job.
	for _, p := range peers {
		for _, say := range []string{"", "GET / HTTP/1.1\r\n\r\n", string(make([]byte, maxCall))} {
			c, err := net.Dial("tcp", p.Address)
			require.NoError(t, err)
			defer c.Close()
			io.WriteString(c, say)
		}
		c, err := net.Dial("tcp", p.Address)
		require.NoError(t, err)
		defer c.Close()
		other := NewSecret()
		go dialHandshake(c, &other, Endpoint{Process{0, 0}, 1}.String(), Endpoint{p.Process, 1}.String(), 0)
	}
	// The last process dies before any connection with it is made.
	ss[3].listener.Close()
	verdict := Verdict{Epoch: 1, Process: all[3], Cause: CauseSignal}
	type connected struct {
		n   int
		err error
	}
	results := make(chan connected)
	for i := range 3 {
		var others []Peer
		for j, p := range peers {
			if j != i {
				others = append(others, p)
			}
		}
		require.NoError(t, hs[i].conn.Write(&Message{Kind: KindStart, Peers: others}))
		go func() {
			links, err := ss[i].Connect(context.Background())
			for _, l := range links {
				defer l.Close()
			}
			results <- connected{len(links), err}
		}()
	}
	for i := range 3 {
		require.NoError(t, hs[i].conn.Write(&Message{Kind: KindVerdict, Verdict: &verdict}))
	}
	for range 3 {
		r := <-results
		require.NoError(t, r.err)
		require.Equal(t, 2, r.n)
	}
}

// A process sees the lease of its host. The lease of a host without one never ends.
func TestSessionHasTheLeaseOfItsHost(t *testing.T) {
	word, err := lease.NewWord()
	require.NoError(t, err)
	defer word.Close()
	h := newHead(t, NewSecret())
	h.in.Lease = word.File()
	h.in.Local = 7
	require.Equal(t, []string{EnvControl + "=3,4,5,6", EnvProcess + "=2.1", EnvLocal + "=7"}, h.in.Environ(Process{Rank: 2, Replica: 1}))
	setup := Setup{Incarnation: 1, Degrees: []int{1}}
	s := h.admit(t, setup)
	require.Equal(t, 7, s.Local())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	require.ErrorIs(t, s.Leased(ctx), io.ErrClosedPipe, "no lease was granted yet")
	word.Publish(lease.Now() + time.Hour)
	require.NoError(t, s.Leased(ctx))
	word.Publish(lease.Now())
	require.ErrorIs(t, s.Leased(ctx), lease.ErrOver)
	require.NoError(t, newHead(t, NewSecret()).admit(t, setup).Leased(ctx))
}

// A process dies before its peers have taken the ends of their links to it. They still get
// these ends, because the process may have sent something.
func TestPeerThatDiesAtTheStart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("links within a host need Linux")
	}
	for _, onUse := range []bool{false, true} {
		h := newHead(t, NewSecret())
		s := h.admit(t, Setup{Self: Process{0, 0}, Incarnation: 1, Degrees: []int{1, 1}})
		peer := Process{1, 0}
		lower, higher, err := LinkFiles(LinkUnix, 0)
		require.NoError(t, err)
		theirs, err := Links{}.Open(LinkUnix, higher, true)
		require.NoError(t, err)
		require.NoError(t, h.conn.Write(&Message{Kind: KindLink, Process: &peer, Incarnation: 1}, lower))
		require.NoError(t, h.conn.Write(&Message{Kind: KindStart, Peers: []Peer{{Process: peer, Incarnation: 1, Link: LinkUnix, OnUse: onUse}}}))
		require.NoError(t, h.conn.Write(&Message{Kind: KindVerdict, Verdict: &Verdict{Epoch: 1, Process: peer, Cause: CauseSignal}}))
		require.Eventually(t, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.dead[Endpoint{peer, 1}]
		}, 20*time.Second, time.Millisecond)
		links, err := s.Connect(t.Context())
		require.NoError(t, err)
		require.Contains(t, links, peer)
		require.NoError(t, links[peer].Close())
		require.NoError(t, theirs.Close())
	}
}
