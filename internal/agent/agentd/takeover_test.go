package agentd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

// A process that has followed a head from the start stays connected when the arbiter reports it.
func TestHeadToFollow(t *testing.T) {
	p := new(Pursuit)
	p.Start()
	require.False(t, p.Elect(arbiter.Head, 1), "the first head")
	first := p.Succeeded(1)
	require.True(t, p.Elect(3, 2))
	<-first
	second := p.Succeeded(2)
	require.False(t, p.Elect(3, 2), "it is reported again")
	select {
	case <-second:
		require.Fail(t, "the head has not changed")
	default:
	}
	<-p.Succeeded(1)
	require.Equal(t, arbiter.Head, p.Last(), "there was no connection to another head")
}

// takingOver listens as the agent of b, which is the head in place of a lost one. The agents
// of a and c may connect: join makes one of them do so.
func takingOver(t *testing.T) (l *takeoverListener, join func(host string, term uint64) *agentwire.Conn) {
	b := &spawn.Bootstrap{Secret: job.NewSecret(), Name: "b"}
	l, err := listenForTakeover(b)
	require.NoError(t, err)
	t.Cleanup(l.close)
	require.NoError(t, l.serve())
	info := &TakeoverInfo{Hosts: []job.Host{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Addresses: map[arbiter.ID]string{3: l.listener.Addr().String()}}
	return l, func(host string, term uint64) *agentwire.Conn {
		n := newTestNode(t, &spawn.Bootstrap{Secret: b.Secret, Name: host}, nil)
		n.heads.Takeover = info
		c, err := n.heads.dial(3, make(chan struct{}))
		require.NoError(t, err)
		m := agentwire.NewConn(c)
		t.Cleanup(m.Close)
		if term > 0 {
			m.SendJSON(agentwire.KindResync, agentwire.Name{}, Resync{Term: term, Processes: []ProcessResync{{State: agentlog.State{PID: 7}}}})
		}
		return m
	}
}

// A head admits agents that connect for its term. It closes the connections of agents with an
// earlier term, which then look for their head. It keeps agents with a later term waiting.
func TestNewHeadAdmitsAgents(t *testing.T) {
	l, join := takingOver(t)
	join("a", 5)
	late := join("c", 4)
	var in []*Incoming
	require.Eventually(t, func() bool {
		in = append(in, l.admit(3)...)
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.incoming) == 2
	}, time.Minute, time.Millisecond)
	require.Empty(t, in, "no agent has connected for this term yet")
	<-l.wake
	in = l.admit(5)
	require.Len(t, in, 1)
	require.Equal(t, "a", in[0].Host)
	require.Equal(t, Resync{Term: 5, Processes: []ProcessResync{{State: agentlog.State{PID: 7}}}}, in[0].Resync)
	_, err := late.Read()
	require.Error(t, err)
	require.Empty(t, l.admit(5), "each agent is returned once")

	nonsense := join("c", 0)
	nonsense.Send(agentwire.KindGone, agentwire.Name{}, nil)
	_, err = nonsense.Read()
	require.Error(t, err, "an agent without a Resync is not admitted")
	waiting := join("c", 6)
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.incoming) == 1 }, time.Minute, time.Millisecond)
	l.close()
	_, err = waiting.Read()
	require.Error(t, err, "an admitted agent wakes all that wait")
}

// A host that has another secret is not admitted. A host that has joined the running job is
// admitted: the head knows from the decisions which hosts have joined.
func TestStrangersAreNotAdmitted(t *testing.T) {
	l, join := takingOver(t)
	n := newTestNode(t, &spawn.Bootstrap{Secret: job.NewSecret(), Name: "a"}, nil)
	n.heads.Takeover = &TakeoverInfo{Hosts: []job.Host{{Name: "a"}, {Name: "b"}}, Addresses: map[arbiter.ID]string{3: l.listener.Addr().String()}}
	_, err := n.heads.dial(3, make(chan struct{}))
	require.Error(t, err)
	require.Empty(t, l.admit(1))
	join("joined", 1)
	require.Eventually(t, func() bool { in := l.admit(1); return len(in) == 1 && in[0].Host == "joined" }, time.Minute, time.Millisecond)
}
