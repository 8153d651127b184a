package sdr

import "github.com/intrahpc/intra/transport"

// ActionKind is the kind of an Action.
type ActionKind uint8

// The kinds of actions.
const (
	// ActSend hands a frame to the link to process To. If Message is set, the link may use
	// the payload until outgoing.Sent is called for that message.
	ActSend ActionKind = 1 + iota
	// ActRenew discards the link to process To, which has been replaced. The next frame
	// uses a new link.
	ActRenew
)

// Action is an effect that a Core requests. The driver must carry out the actions for one
// link in the order in which they were appended.
type Action struct {
	Kind       ActionKind
	First      bool // first transmission of the payload of a message by this process on its own behalf
	To         int  // process, see job.index
	Header     transport.Header
	Payload    []byte
	CausalPast []byte // encoded causal history of the message, follows the payload
	Message    *Message
	Mid        func() bool // for transport.Frame.Mid, see Engine.prepare
}

// outbox collects the effects of a core for its driver: frames to send, requests that are
// complete, and events for waiters.
type outbox struct {
	incarnation uint32 // incarnation of this process, for every frame
	passed      uint64 // number of the last cut that was passed, for every frame
	actions     []Action
	spare       []Action // for reuse
	completed   []*Request
	wake        bool   // a waiter has to check messages, decisions or confirmations again
	ends        uint64 // number of deaths, and of reports that ranks have finished
	// now, if set, hands a frame to its link at once, and reports whether the link has
	// accepted it. If not, the frame becomes an action. now is called only if there are no
	// other actions.
	now    func(a *Action) bool
	direct Action // memory of the action that SendNow sends
}

// send appends a frame that belongs to no message.
func (b *outbox) send(to int, h transport.Header, payload []byte) {
	h.Channel, h.Incarnation, h.Args[5] = transport.ChannelMessage, b.incarnation, b.passed
	b.actions = append(b.actions, Action{Kind: ActSend, To: to, Header: h, Payload: payload})
}

// frame appends a frame in a context and returns it. The caller must fill it in before
// another one is appended. Most frames are made this way, because it avoids a copy.
func (b *outbox) frame(to int, kind uint8, ctx *Context, number uint64) *Action {
	b.actions = append(b.actions, Action{})
	a := &b.actions[len(b.actions)-1]
	a.Kind, a.To = ActSend, to
	h := &a.Header
	h.Channel, h.Kind, h.Incarnation = transport.ChannelMessage, kind, b.incarnation
	if ctx.exact {
		h.Flags = flagExact
	}
	h.Args[0], h.Args[1], h.Args[5] = ctx.id, number, b.passed
	return a
}

// sendNow hands the frame that was appended last directly to its link, if there is no other
// action and the link accepts it at once. It reports whether the link has accepted it.
func (b *outbox) sendNow() bool {
	last := len(b.actions) - 1
	if last > 0 || b.now == nil || !b.now(&b.actions[0]) {
		return false
	}
	b.actions[0] = Action{}
	b.actions = b.actions[:0]
	return true
}

// complete ends a request.
func (b *outbox) complete(r *Request, st Status, err error) {
	if r == nil {
		return // a bookmark has no request
	}
	r.status, r.err, r.sends = st, err, nil
	if r.held {
		r.ended = true
		return
	}
	b.completed = append(b.completed, r)
}

// Actions returns the requested actions and clears the list. The slice is valid until the
// next call of Actions.
func (b *outbox) Actions() []Action {
	acts := b.actions
	b.actions, b.spare = b.spare[:0], acts
	return acts
}
