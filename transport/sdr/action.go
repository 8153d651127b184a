package sdr

import "github.com/intrahpc/intra/transport"

// ActionKind is the kind of an Action.
type ActionKind uint8

// The kinds of actions.
const (
	// ActSend hands a frame to the link to process To. If Message is set, the link may use
	// the payload until Core.Sent is called for that message.
	ActSend ActionKind = 1 + iota
	// ActRenew discards the link to process To, which has been replaced: its next frame
	// goes over a new link.
	ActRenew
)

// Action is one effect that a Core requests. Actions run in the order in which they were
// appended; the order matters only among those for one link.
type Action struct {
	Kind       ActionKind
	First      bool // first transmission of the payload of a message by this process on its own behalf
	To         int  // process, see Core.Process
	Header     transport.Header
	Payload    []byte
	CausalPast []byte // encoded causal history of the message, follows the payload
	Message    *Message
	Mid        func() bool // for transport.Frame.Mid, see Engine.prepare
}

// send appends a frame that belongs to no message.
func (c *Core) send(to int, h transport.Header, payload []byte) {
	h.Channel, h.Incarnation, h.Args[5] = transport.ChannelMessage, c.incarnation, c.passed
	c.actions = append(c.actions, Action{Kind: ActSend, To: to, Header: h, Payload: payload})
}

// frame appends a frame in a context and returns it to be filled in, before another one is
// appended. Most frames are built this way, since it avoids a copy.
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

// sendNow hands the frame that was appended last directly to its link, if it is the only
// action and the link takes it at once. It reports whether that was so.
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

// Completed returns the requests that have become complete, with their status and error,
// and clears the list. The slice is valid until the next event.
func (c *Core) Completed() []*Request {
	done := c.completed
	c.completed = c.completed[:0]
	return done
}

// Actions returns the requested actions and clears the list. The slice is valid until the
// next call of Actions.
func (c *Core) Actions() []Action {
	acts := c.actions
	c.actions, c.spare = c.spare[:0], acts
	return acts
}
