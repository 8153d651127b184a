package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// silent is a link on which no frame arrives.
type silent struct {
	transport.Link
	died bool
}

func (l *silent) PeerDied()                      { l.died = true }
func (l *silent) Close() error                   { return nil }
func (l *silent) Shutdown(context.Context) error { return nil }

func TestPeerLinks(t *testing.T) {
	var links peerLinks
	a, b := job.Process{Rank: 0}, job.Process{Rank: 0, Replica: 1}
	toA, toB := new(silent), new(silent)
	links.set(b, 1, toB)
	links.set(a, 2, toA)
	require.Equal(t, []transport.Link{toA, toB}, links.links())
	require.Nil(t, links.get(a, 1))
	require.NotNil(t, links.get(a, 0), "of any incarnation")
	links.close(a, 1)
	require.False(t, links.isClosed(a, 2))
	links.close(a, 2)
	require.True(t, links.isClosed(a, 2))
	require.Nil(t, first(links.remove(a, 1)))
	require.NotNil(t, first(links.remove(a, 2)))
	require.Nil(t, first(links.remove(a, 2)))
	require.True(t, links.isClosed(a, 2), "a process without a link counts as closed")
	require.False(t, links.set(a, 2, toA), "the process is dead")
}

// Events of the head are handled in order. A death is handled only after all frames of the
// dead process have arrived.
func TestDeathsWaitForTheEndOfTheLink(t *testing.T) {
	a, b := job.Process{Rank: 1}, job.Process{Rank: 1, Replica: 1}
	toA, toB := new(silent), new(silent)
	var links peerLinks
	links.set(a, 1, toA)
	links.set(b, 1, toB)
	var done []job.Event
	d := deaths{links: &links}
	d.do = func(e job.Event) {
		done = append(done, e)
		if v, ok := e.(job.Verdict); ok {
			links.remove(v.Process, incarnationOf(v))
			d.doDue() // like a link that closes at the same time; the goroutine that handles events must see this
		}
	}
	first, second := job.Verdict{Epoch: 1, Process: a}, job.Verdict{Epoch: 2, Process: b, Incarnation: 1}
	order := job.Order{Kind: job.OrderComplete, Number: 4}
	d.enqueue(first)
	require.True(t, toA.died, "the link is informed at once")
	d.enqueue(order)
	d.enqueue(second)
	require.True(t, toB.died)
	d.linkClosed(b, 1)
	require.Empty(t, done, "the first event is not due, and the others wait behind it")
	d.linkClosed(a, 7)
	require.Empty(t, done, "this link belongs to another incarnation")
	d.linkClosed(a, 1)
	require.Equal(t, []job.Event{first, order, second}, done)
	d.enqueue(job.Verdict{Epoch: 3, Process: a, Incarnation: 9})
	require.Len(t, done, 4, "there is no link to wait for")
}

// A joiner may die while the death of its predecessor still waits. Its link then begins
// after its own death was reported, and must be informed of it.
func TestAJoinerDiesBeforeItsLinkBegins(t *testing.T) {
	p := job.Process{Replica: 1}
	before, joiner := new(silent), new(silent)
	var links peerLinks
	links.set(p, 1, before)
	var done []job.Event
	d := deaths{links: &links}
	d.do = func(e job.Event) {
		done = append(done, e)
		switch e := e.(type) {
		case job.Verdict:
			links.remove(e.Process, incarnationOf(e))
		case job.Connected:
			links.set(e.Process, e.Incarnation, e.Link)
		}
	}
	words := []job.Event{
		job.Verdict{Epoch: 1, Process: p},
		job.Connected{Process: p, Incarnation: 2, Link: joiner},
		job.Verdict{Epoch: 2, Process: p, Incarnation: 2},
		job.Order{Kind: job.OrderGo, Number: 5},
	}
	for _, w := range words {
		d.enqueue(w)
	}
	require.Empty(t, done)
	require.Equal(t, "the death of 0.1(1) waits until its link has been read to the end, and behind it 3 events of the head\n", d.describe())
	require.False(t, joiner.died, "its link has not begun")
	d.linkClosed(p, 1)
	require.Equal(t, words[:2], done)
	require.True(t, joiner.died)
	d.linkClosed(p, 2)
	require.Equal(t, words, done)
	require.Empty(t, d.describe())
}

// An engine forgets a process that has died, and treats its replacement as another process.
func TestReplicaIsReplaced(t *testing.T) {
	h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: 1}}}
	peer := job.Process{Replica: 1}
	first := &startable{}
	e := New(t.Context(), Config{Head: h, Links: map[job.Process]transport.Link{peer: first}})
	require.Equal(t, transport.Link(first), e.peers[1])
	e.dead(peer, 1)
	require.Nil(t, e.peers[1])
	require.NotContains(t, e.incarnations, peer)
	require.Nil(t, e.linkTo(peer))
	require.False(t, e.machine.Live(1))

	second, late := &startable{}, &startable{}
	e.dead(peer, 3) // it had no link yet
	e.do(job.Connected{Process: peer, Incarnation: 4, Link: second})
	require.Equal(t, []job.Reply{{Kind: job.ReplyLinked, Process: peer, Incarnation: 4}}, h.all)
	require.True(t, second.started)
	require.True(t, e.linked(job.Peer{Process: peer, Incarnation: 4}))
	require.False(t, e.linked(job.Peer{Process: peer, Incarnation: 3}), "another incarnation died")
	e.do(job.Connected{Process: peer, Incarnation: 3, Link: late})
	require.True(t, late.closed)
	require.False(t, late.started)
	require.Nil(t, e.peers[1], "it takes part once it is admitted in a cut")
	e.admit(peer)
	require.Equal(t, transport.Link(second), e.peers[1])
	require.True(t, e.machine.Live(1))
}

// A joiner that dies before this process admits it is admitted, and dies at once. By then
// the next joiner may have its link, and this process the order to send it state. Both
// stay valid.
func TestAJoinerDiesBeforeItIsAdmitted(t *testing.T) {
	peer := job.Process{Replica: 1}
	e := New(t.Context(), Config{Head: &replies{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: 1}}}, Links: map[job.Process]transport.Link{peer: &startable{}}})
	e.dead(peer, 1)
	e.do(job.Connected{Process: peer, Incarnation: 4, Link: &startable{}})
	e.dead(peer, 4)
	e.do(job.Connected{Process: peer, Incarnation: 5, Link: &startable{}})
	e.do(job.Order{Kind: job.OrderDonate, Process: peer})
	e.incarnations[peer] = 4
	e.admit(peer)
	e.recovering.bury(peer)
	require.NotContains(t, e.incarnations, peer)
	require.False(t, e.machine.Live(1))
	require.True(t, e.linked(job.Peer{Process: peer, Incarnation: 5}))
	require.True(t, e.recovering.member.Due(), "the next joiner gets its state")
}

// startable records its calls.
type startable struct {
	silent
	started, closed bool
}

func (l *startable) Start(transport.Receiver) { l.started = true }
func (l *startable) Close() error             { l.closed = true; return nil }
func (l *startable) Send(f *transport.Frame)  { f.Owner.Sent(f, nil) }
func (l *startable) Attend(bool)              {}
func (l *startable) Progress() bool           { return false }

func first(l *peerLink, _ bool) *peerLink { return l }
