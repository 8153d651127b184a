package simulation

import (
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// receiver passes the frames of one link to the layer to which they belong.
type receiver struct {
	p     *process
	from  *process
	begun transport.Receiver // receiver of the frame announced by Begin

	announced bool // the frame is an update
	place     section.Place
	snapshot  update.Snapshot
}

// messages returns the receiver of frames with messages, nil if the process has
// no slot yet.
func (r *receiver) messages() transport.Receiver {
	if r.p.msgs == nil {
		return nil
	}
	return r.p.msgs.Receiver(r.from.self.Rank, r.from.self.Replica)
}

func (r *receiver) parse(h *transport.Header) (update.Message, section.Update, bool) {
	m, err := update.ParseMessage(h)
	r.fail(err)
	return m, section.Update{Peer: r.from.self.Replica, Section: m.Section, Task: m.Task, Tasks: m.Tasks,
		Signature: m.Signature, Size: int64(h.Size)}, err == nil
}

func (r *receiver) fail(err error) {
	if err != nil && r.p.err == nil {
		r.p.err = err
	}
}

// Begin implements transport.Receiver.
func (r *receiver) Begin(h *transport.Header) []byte {
	switch h.Channel {
	case transport.ChannelMessage:
		if r.begun = r.messages(); r.begun == nil {
			return nil
		}
		return r.begun.Begin(h)
	case transport.ChannelRecovery:
		return nil
	}
	p := r.p
	r.announced, r.place = true, section.Discard
	if p.lives[r.from.self] != h.Incarnation {
		return nil // the frame is from a former life
	}
	m, u, ok := r.parse(h)
	if !ok {
		return nil
	}
	if m.Kind != update.KindUpdate {
		r.announced = false
		return make([]byte, h.Size)
	}
	place, err := p.machine.Announce(u, r.inPlace(u))
	if err != nil {
		r.fail(err)
		return nil
	}
	r.place = place
	switch place {
	case section.Into:
		p.filling++
		mem, mode, _ := update.InPlace(p.open.tasks[u.Task].regions)
		if mode == update.InOut {
			r.snapshot.Take(mem)
		}
		return mem
	case section.Discard:
		p.machine.Refused(u)
		p.changed()
	}
	return make([]byte, h.Size)
}

// filled records that a frame is no longer being written into the program's memory.
func (r *receiver) filled() {
	if r.announced && r.place == section.Into {
		r.p.filling--
	}
}

// inPlace reports whether an update may be received directly into the memory of
// its task.
func (r *receiver) inPlace(u section.Update) bool {
	p := r.p
	if !p.w.spec.inPlace || p.retired || p.open == nil || u.Section != p.machine.Number() || u.Task >= len(p.open.tasks) {
		return false
	}
	mem, _, ok := update.InPlace(p.open.tasks[u.Task].regions)
	return ok && int64(len(mem)) == u.Size
}

// End implements transport.Receiver.
func (r *receiver) End(h *transport.Header, payload []byte) {
	p := r.p
	switch h.Channel {
	case transport.ChannelMessage:
		to := r.begun
		if r.begun = nil; to == nil {
			to = r.messages()
		}
		if to != nil {
			p.taking = &taking{h, r.from}
			to.End(h, payload)
			p.taking = nil
		}
		return
	case transport.ChannelRecovery:
		p.takeState(r.from, h, payload)
		return
	}
	r.filled()
	announced := r.announced
	r.announced = false
	if p.lives[r.from.self] != h.Incarnation {
		p.changed()
		return
	}
	m, u, ok := r.parse(h)
	switch {
	case !ok:
	case m.Kind == update.KindUpdate && (!announced || r.place != section.Discard):
		acts, err := p.machine.Arrive(u, append([]byte(nil), payload...), announced && r.place == section.Into)
		if err == nil {
			err = p.perform(acts)
		}
		r.fail(err)
	case m.Kind == update.KindClaim:
		r.fail(p.machine.Claimed(u, p.now()))
	case m.Kind == update.KindEntered:
		r.fail(p.machine.Entered(u))
	case m.Kind == update.KindBye:
		r.fail(p.machine.Finished(r.from.self.Replica, m.Section))
	default:
		p.takeOnce(r.from.self.Replica, m, payload)
	}
	p.changed()
}

// Torn implements transport.Receiver. No byte of a torn update may remain.
func (r *receiver) Torn(h *transport.Header, n int) {
	p := r.p
	switch h.Channel {
	case transport.ChannelMessage:
		if r.begun != nil {
			r.begun.Torn(h, n)
			r.begun = nil
		}
		return
	case transport.ChannelRecovery:
		return
	}
	r.filled()
	announced := r.announced
	r.announced = false
	if _, u, ok := r.parse(h); ok && announced && r.place == section.Into && p.lives[r.from.self] == h.Incarnation {
		if _, mode, _ := update.InPlace(p.open.tasks[u.Task].regions); mode == update.InOut {
			r.snapshot.Restore()
		}
		p.machine.Torn(u)
	}
	p.changed()
}

// Lost implements transport.Receiver.
func (r *receiver) Lost(h *transport.Header) {
	if h.Channel == transport.ChannelSection && r.p.lives[r.from.self] == h.Incarnation {
		if _, u, ok := r.parse(h); ok {
			r.fail(r.p.machine.Lost(u))
		}
		r.p.w.seen["update lost"]++
	}
	r.p.changed()
}

// Closed implements transport.Receiver.
func (r *receiver) Closed(error) {}
