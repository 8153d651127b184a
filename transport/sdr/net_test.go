package sdr

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// net is a job of bare cores whose frames a test moves by hand.
type net struct {
	t     testing.TB
	cores []*Core
	ctxs  []*Context
	wire  map[[2]int][]wireFrame
	log   []string // frames as they are sent
}

type wireFrame struct {
	header  transport.Header
	payload []byte
	message *Message
}

const testContext = 42

func newNet(t testing.TB, limits Limits, degrees ...int) *net {
	n := &net{t: t, wire: make(map[[2]int][]wireFrame)}
	for rank, d := range degrees {
		for k := range d {
			c := NewCore(rank, k, 0, degrees, false, limits)
			ctx, err := c.Join(testContext, testContext, false, nil)
			require.NoError(t, err)
			n.cores, n.ctxs = append(n.cores, c), append(n.ctxs, ctx)
		}
	}
	return n
}

var kindNames = map[uint8]string{kindEager: "eager", kindOffer: "offer", kindGrant: "grant", kindData: "data", kindAck: "ack", kindWant: "want", kindCredit: "credit", kindArrived: "arrived", kindAsk: "ask", kindFinished: "finished", kindDecision: "decision", kindHolds: "holds"}

func (n *net) name(p int) string {
	pr := n.cores[p].job.processes[p]
	return fmt.Sprintf("%d.%d", pr.rank, pr.replica)
}

// p returns the index of a process.
func (n *net) p(rank, replica int) int { return n.cores[0].job.index(rank, replica) }

// carry puts the actions of a process on the wire. A payload stays in the
// memory of the process until the frame is delivered.
func (n *net) carry(p int) {
	for _, r := range n.cores[p].Completed() {
		r.done.Store(true)
	}
	for _, a := range n.cores[p].out.Actions() {
		switch a.Kind {
		case ActSend:
			a.Header.Size = uint64(len(a.Payload) + len(a.CausalPast))
			payload := append(append([]byte(nil), a.Payload...), a.CausalPast...)
			n.wire[[2]int{p, a.To}] = append(n.wire[[2]int{p, a.To}], wireFrame{a.Header, payload, a.Message})
			n.log = append(n.log, fmt.Sprintf("%s->%s %s", n.name(p), n.name(a.To), kindNames[a.Header.Kind]))
		}
	}
}

// sent returns a line of text for each frame sent since the last call.
func (n *net) sent() []string {
	log := n.log
	n.log = nil
	return log
}

// deliver moves the next frame from one process to another.
func (n *net) deliver(from, to int) {
	key := [2]int{from, to}
	require.NotEmpty(n.t, n.wire[key], "nothing from %s to %s", n.name(from), n.name(to))
	f := n.wire[key][0]
	n.wire[key] = n.wire[key][1:]
	if f.message != nil {
		n.cores[from].outgoing.Sent(f.message, to, nil)
		n.carry(from)
	}
	if len(f.payload) > 0 {
		if place := n.cores[to].incoming.Begin(from, &f.header); place != nil {
			f.payload = place[:copy(place, f.payload)]
		}
	}
	require.NoError(n.t, n.cores[to].End(from, &f.header, f.payload))
	n.carry(to)
}

// deliverAll moves frames until there are none. It leaves the frames between the processes
// in skip.
func (n *net) deliverAll(skip ...[2]int) {
	for moved := true; moved; {
		moved = false
		for from := range n.cores {
			for to := range n.cores {
				held := false
				for _, s := range skip {
					held = held || s == [2]int{from, to}
				}
				for !held && len(n.wire[[2]int{from, to}]) > 0 {
					n.deliver(from, to)
					moved = true
				}
			}
		}
	}
}

// die discards all frames of a process that are on the wire, and reports its death to all
// others.
func (n *net) die(p int) {
	for q := range n.cores {
		delete(n.wire, [2]int{p, q})
	}
	for q, c := range n.cores {
		if q != p {
			n.reportDeath(q, p, c)
		}
	}
}

func (n *net) reportDeath(q, p int, c *Core) {
	for _, f := range n.wire[[2]int{q, p}] {
		if f.message != nil {
			c.outgoing.Sent(f.message, p, transport.ErrPeerGone)
		}
	}
	delete(n.wire, [2]int{q, p})
	c.Dead(p)
	n.carry(q)
}

func (n *net) send(p int, text string, dst, tag int) *Request {
	r := new(Request)
	n.cores[p].Send(n.ctxs[p], r, []byte(text), dst, tag, false)
	n.carry(p)
	return r
}

func (n *net) ssend(p int, text string, dst, tag int) *Request {
	r := new(Request)
	n.cores[p].Send(n.ctxs[p], r, []byte(text), dst, tag, true)
	n.carry(p)
	return r
}

type pendingRecv struct {
	Request
	room []byte
}

func (n *net) recv(p, src, tag int) *pendingRecv {
	r := &pendingRecv{room: make([]byte, 64)}
	n.cores[p].matching.Recv(n.ctxs[p], &r.Request, r.room, src, tag)
	n.carry(p)
	return r
}

func (r *pendingRecv) text(t testing.TB) string {
	require.True(t, r.Done(), "receive is not complete")
	st, err := r.Result()
	require.NoError(t, err)
	return fmt.Sprintf("%d:%s", st.Source, r.room[:st.Size])
}
