package sdr

import "github.com/intrahpc/intra/transport"

// ActionKind says what is to be done.
type ActionKind uint8

// The kinds of actions.
const (
	// ActSend: hand a frame to the link to process To. If Message is set, the
	// payload belongs to it until Core.Sent is called for it.
	ActSend ActionKind = 1 + iota
	// ActRenew: process To lives again; its frames go over a new link.
	ActRenew
)

// Action is one thing that a Core wants done. Actions are carried out in the
// order in which they were appended; only those for one link depend on it.
type Action struct {
	Kind       ActionKind
	First      bool // first transmission of the payload of a message by this process on its own behalf
	To         int  // process, see Core.Process
	Header     transport.Header
	Payload    []byte
	CausalPast []byte // list of the causal past of the message, follows the payload
	Message    *Message
	Mid        func() bool // goes with the frame; asked for before First was cleared
}

// send appends a frame without an owner.
func (c *Core) send(to int, h transport.Header, payload []byte) {
	h.Channel, h.Incarnation, h.Args[5] = transport.ChannelMessage, c.incarnation, c.passed
	c.actions = append(c.actions, Action{Kind: ActSend, To: to, Header: h, Payload: payload})
}

// frame appends a frame in a context, to be filled in before the next one: most frames
// are of this kind, and to copy what has just been written takes its time.
func (c *Core) frame(to int, kind uint8, ctx *Context, number uint64) *Action {
	c.actions = append(c.actions, Action{})
	a := &c.actions[len(c.actions)-1]
	a.Kind, a.To = ActSend, to
	h := &a.Header
	h.Channel, h.Kind, h.Incarnation = transport.ChannelMessage, kind, c.incarnation
	if ctx.exact {
		h.Flags = flagExact
	}
	h.Args[0], h.Args[1], h.Args[5] = ctx.id, number, c.passed
	return a
}

// sendNow takes the frame back that was appended last if its link has it at once,
// which it reports.
func (c *Core) sendNow() bool {
	last := len(c.actions) - 1
	if last > 0 || c.now == nil || !c.now(&c.actions[0]) {
		return false
	}
	c.actions[0] = Action{}
	c.actions = c.actions[:0]
	return true
}

// complete ends a request.
func (c *Core) complete(r *Request, st Status, err error) {
	if r == nil {
		return // a bookmark
	}
	r.status, r.err, r.sends = st, err, nil
	if r.held {
		r.ended = true
		return
	}
	c.completed = append(c.completed, r)
}

// Completed returns the requests that have become complete, with their status and
// error, and forgets them. The slice is valid until the next event.
func (c *Core) Completed() []*Request {
	done := c.completed
	c.completed = c.completed[:0]
	return done
}

// Actions returns what is to be done and forgets it. The slice is valid until
// the next call of Actions.
func (c *Core) Actions() []Action {
	acts := c.actions
	c.actions, c.spare = c.spare[:0], acts
	return acts
}
