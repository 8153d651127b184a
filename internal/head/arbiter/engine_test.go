package arbiter

import (
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// testNode is an engine with its events so far.
type testNode struct {
	*Engine
	word *lease.Word

	mu       sync.Mutex
	led      *Lead
	leader   ID
	verdicts []job.Verdict
	entries  []decision.Entry
	fence    string
}

func (n *testNode) watch() {
	for {
		a, ok := n.Next()
		if !ok {
			return
		}
		n.mu.Lock()
		switch a := a.(type) {
		case Lead:
			n.led = &a
		case Leader:
			n.leader = a.ID
		case Verdict:
			n.verdicts = append(n.verdicts, a.Verdict)
		case Committed:
			n.entries = append(n.entries, a.Entry)
		case Fence:
			n.fence = a.Why
		}
		n.mu.Unlock()
	}
}

// eventually waits for a condition, up to a generous bound.
func (n *testNode) eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return f()
	}, 60*time.Second, 5*time.Millisecond, "%s", what)
}

func startNodes(t *testing.T, hosts ...string) ([]*testNode, []Peer) {
	var sockets []*Socket
	var roster []Peer
	for i, h := range hosts {
		s, err := Listen("127.0.0.1:0")
		require.NoError(t, err)
		sockets = append(sockets, s)
		roster = append(roster, Peer{ID: ID(i + 1), Host: h, Address: fmt.Sprintf("127.0.0.1:%d", s.Port())})
	}
	secret := job.NewSecret()
	var nodes []*testNode
	for i, s := range sockets {
		w, err := lease.NewWord()
		require.NoError(t, err)
		e, err := Start(s, Config{Self: ID(i + 1), Roster: roster, Secret: secret, Timing: DefaultTiming, Word: w})
		require.NoError(t, err)
		n := &testNode{Engine: e, word: w}
		var watching sync.WaitGroup
		watching.Go(n.watch)
		t.Cleanup(func() { n.Close(); watching.Wait(); w.Close() })
		nodes = append(nodes, n)
	}
	return nodes, roster
}

func (n *testNode) propose(t *testing.T, e decision.Entry) {
	t.Helper()
	require.Eventually(t, func() bool { // the head's lease may lapse for a moment
		err := n.Propose(e)
		if err != nil {
			require.ErrorIs(t, err, ErrNotHead)
		}
		return err == nil
	}, 60*time.Second, time.Millisecond)
}

// TestHeadIsLost uses real sockets, with strangers that send to every port. The head vanishes,
// and another node takes over with all decisions. When the last of the three hosts with the
// decisions is alone, it stops.
func TestHeadIsLost(t *testing.T) {
	nodes, roster := startNodes(t, "a", "b", "c", "d")
	stop := flood(t, roster)
	defer stop()
	head := nodes[0]
	head.eventually(t, "a head", func() bool { return head.led != nil })
	p := job.Process{Rank: 0, Replica: 1}
	q := job.Process{Rank: 1, Replica: 0}
	head.propose(t, decision.Entry{Kind: decision.Opened, Opened: &decision.Folders{Restart: &decision.Restart{Refused: []string{strings.Repeat("long ", 20_000)}}}})
	head.propose(t, decision.Entry{Kind: decision.Placed, Process: p, Incarnation: 1, Node: 2, ID: p})
	head.propose(t, decision.Entry{Kind: decision.Placed, Process: q, Incarnation: 1, Node: 4, ID: q})
	head.propose(t, decision.Entry{Kind: decision.Died, Process: p, Incarnation: 1, Cause: job.CauseSignal, Text: "killed"})
	for _, n := range nodes {
		n.eventually(t, "the verdict", func() bool { return len(n.verdicts) == 1 })
		n.eventually(t, "a lease", func() bool { return n.word.Held() })
	}
	require.ErrorIs(t, nodes[1].Propose(decision.Entry{Kind: decision.Started}), ErrNotHead)
	require.ErrorIs(t, head.Propose(decision.Entry{Kind: "nonsense"}), decision.ErrEntry)

	require.NoError(t, head.Close())
	require.ErrorIs(t, head.Close(), ErrClosed)
	require.ErrorIs(t, head.Propose(decision.Entry{Kind: decision.Started}), ErrClosed)
	var next *testNode
	require.Eventually(t, func() bool {
		for _, n := range nodes[1:3] {
			n.mu.Lock()
			if n.led != nil {
				next = n
			}
			n.mu.Unlock()
		}
		return next != nil
	}, 60*time.Second, 5*time.Millisecond)
	require.Len(t, next.led.State.Opened.Restart.Refused[0], 100_000)
	require.Equal(t, decision.Place{Incarnation: 1, Node: 2, ID: p, Status: decision.Dead}, next.led.State.Places[p])
	require.Equal(t, decision.Place{Incarnation: 1, Node: 4, ID: q, Status: decision.Running}, next.led.State.Places[q])
	next.eventually(t, "the loss of the head", func() bool {
		for _, e := range next.entries {
			if e.Kind == decision.Lost && e.Node == Head {
				return true
			}
		}
		return false
	})
	next.propose(t, decision.Entry{Kind: decision.Died, Process: q, Incarnation: 1, Cause: job.CauseExit, Text: "exit status 1"})
	for _, n := range nodes[1:] {
		n.eventually(t, "the next verdict", func() bool { return len(n.verdicts) == 2 })
		require.Equal(t, q, n.verdicts[1].Process)
	}
	last := nodes[3]
	last.eventually(t, "the new head", func() bool { return last.leader == next.config.Self })
	require.NoError(t, nodes[1].Close())
	require.NoError(t, nodes[2].Close())
	last.eventually(t, "its end", func() bool { return last.fence != "" })
	require.False(t, last.word.Held())
}

// flood sends malformed datagrams, and replays of recorded ones, to every node.
func flood(t *testing.T, roster []Peer) (stop func()) {
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			return
		}
		defer conn.Close()
		b := make([]byte, 1400)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
			}
			rand.Read(b)
			copy(b, []byte{0, 0, 0, byte(i % 6)}) // with the header of a node's datagram
			a, err := net.ResolveUDPAddr("udp", roster[i%len(roster)].Address)
			if err == nil {
				_, _ = conn.WriteTo(b[:i%len(b)], a)
			}
		}
	})
	return func() { close(quit); done.Wait() }
}

func TestStartRefuses(t *testing.T) {
	s, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer s.Close()
	for _, c := range []struct {
		name   string
		config Config
		says   string
	}{
		{"nobody", Config{Self: 1, Timing: DefaultTiming}, "must begin with node 1"},
		{"not in the roster", Config{Self: 3, Roster: []Peer{{ID: 1, Host: "a"}}, Timing: DefaultTiming}, "node 3 is not in it"},
		{"twice", Config{Self: 1, Roster: []Peer{{ID: 1, Host: "a"}, {ID: 1, Host: "b"}}, Timing: DefaultTiming}, "node 1 follows node 1"},
		{"no time", Config{Self: 1, Roster: []Peer{{ID: 1, Host: "a"}}}, "cannot be renewed"},
		{"no address", Config{Self: 1, Roster: []Peer{{ID: 1, Host: "a"}, {ID: 2, Host: "b"}}, Timing: DefaultTiming}, "the address of node 2 on b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(s, c.config)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err = Listen("not an address")
	require.ErrorContains(t, err, "listen for other hosts")
}
