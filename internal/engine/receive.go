package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// receiver takes the frames of one link and hands them to the layer they are
// for.
type receiver struct {
	e           *Engine
	from        job.Process
	incarnation uint32 // incarnation in which that process began

	of     *sdr.Engine         // that msgs belongs to
	msgs   transport.Receiver  // for the messages between ranks
	begun  transport.Receiver  // of the frame announced by Begin
	states map[uint32]*inbound // that come, by stream

	// The frame announced by Begin, if it is an update.
	place    section.Place
	buf      *buffer
	snapshot update.Snapshot
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
	e := r.e
	e.mu.Lock()
	defer e.mu.Unlock()
	r.place = section.Discard
	if e.incarnations[r.from] != h.Incarnation {
		return nil // of an incarnation that is over
	}
	m, u, ok := r.parse(h)
	if !ok {
		return nil // its size is not to be believed either
	}
	if m.Kind == update.KindUpdate {
		place, err := e.machine.Announce(u, e.inPlace(u))
		if err != nil {
			e.fail(err)
			return nil
		}
		r.place = place
		switch place {
		case section.Into:
			e.filling.Add(1)
			mem, mode, _ := update.InPlace(e.open.Tasks[u.Task].Regions)
			if mode == update.InOut && e.receive == job.ReceiveInPlace {
				r.snapshot.Take(mem)
			}
			return mem
		case section.Discard:
			e.machine.Refused(u)
			defer e.changed()
		}
	}
	r.buf = e.staged.get(int(h.Size))
	return r.buf.mem
}

// messages returns what takes the frames with messages, nil if this process
// has no place yet.
func (r *receiver) messages() transport.Receiver {
	if m := r.e.msgs.Load(); m != r.of {
		r.of, r.msgs = m, m.Receiver(r.from.Rank, r.from.Replica)
	}
	return r.msgs
}

// filled notes that nothing is written into the program's memory any more.
func (r *receiver) filled() {
	if r.place == section.Into {
		r.e.filling.Add(-1)
	}
}

// drop gives the buffer of a frame back.
func (r *receiver) drop() {
	if r.place = section.Discard; r.buf != nil {
		r.e.staged.put(r.buf)
		r.buf = nil
	}
}

// inPlace reports whether an update may be received straight into the memory
// of its task: it has one written region, of the right size.
func (e *Engine) inPlace(u section.Update) bool {
	if e.receive == job.ReceiveStaged || e.open == nil || u.Section != e.machine.Number() || u.Task >= len(e.open.Tasks) {
		return false
	}
	mem, _, ok := update.InPlace(e.open.Tasks[u.Task].Regions)
	return ok && int64(len(mem)) == u.Size
}

func (r *receiver) parse(h *transport.Header) (update.Message, section.Update, bool) {
	m, err := update.ParseMessage(h)
	if err != nil {
		r.e.fail(fmt.Errorf("from %s: %w", r.from, err))
		return m, section.Update{}, false
	}
	return m, section.Update{Peer: r.from.Replica, Section: m.Section, Task: m.Task, Tasks: m.Tasks,
		Signature: m.Signature, Size: int64(h.Size), At: time.Duration(m.At), Came: r.e.now()}, true
}

// End implements transport.Receiver.
func (r *receiver) End(h *transport.Header, payload []byte) {
	switch h.Channel {
	case transport.ChannelMessage:
		to := r.begun
		if r.begun = nil; to == nil {
			to = r.messages()
		}
		if to != nil {
			to.End(h, payload)
		}
		return
	case transport.ChannelRecovery:
		r.recovery(h, payload)
		return
	}
	e := r.e
	e.mu.Lock()
	r.filled()
	if e.incarnations[r.from] != h.Incarnation {
		r.drop()
		e.mu.Unlock()
		return
	}
	m, u, ok := r.parse(h)
	if ok && m.Kind == update.KindUpdate {
		r.update(u, payload)
		if m.Next > 0 {
			u.Task = m.Next - 1
			if err := e.machine.Claimed(u, e.now()); err != nil {
				e.fail(err)
			}
		}
	} else if ok {
		r.word(m, u, payload)
	}
	if r.buf != nil {
		e.staged.put(r.buf)
		r.buf = nil
	}
	e.mu.Unlock()
	e.changed()
}

// update takes in a whole update. Its bytes lie in the memory of the task, in
// a buffer of ours, or in the link's memory; those last must be copied if the
// update is kept for later.
func (r *receiver) update(u section.Update, payload []byte) {
	e := r.e
	b, placed := r.buf, r.buf == nil && u.Size > 0 && r.place == section.Into
	if b != nil && r.place == section.Discard {
		return
	}
	r.buf, r.place = nil, section.Stage
	borrowed := b == nil
	if borrowed {
		b = e.staged.lend(payload)
	}
	acts, err := e.machine.Arrive(u, b, placed)
	if err == nil {
		err = e.perform(acts)
	}
	if err != nil {
		e.fail(err)
		return
	}
	if placed {
		e.stats.received(e.open.Tasks[u.Task].known, 1)
		e.traceUpdate(job.TraceReceive, e.open, u.Task, u.Peer)
		return
	}
	if borrowed && len(acts) == 0 {
		e.staged.own(b)
	}
}

// word takes in a frame that is not an update.
func (r *receiver) word(m update.Message, u section.Update, payload []byte) {
	e, from := r.e, r.from.Replica
	switch m.Kind {
	case update.KindClaim:
		if err := e.machine.Claimed(u, e.now()); err != nil {
			e.fail(err)
		}
	case update.KindEntered:
		if err := e.machine.Entered(u); err != nil {
			e.fail(err)
		}
	case update.KindBye:
		if err := e.machine.Finished(from, m.Section); err != nil {
			e.fail(err)
		}
	case update.KindOnceResult:
		e.performOnce(e.once.Result(from, m.Section, append([]byte(nil), payload...)))
	case update.KindOnceHave:
		e.once.Have(from, m.Section)
	case update.KindOnceQuery:
		e.performOnce(e.once.Query(from, m.Section, m.Deaths))
	case update.KindOnceNone:
		e.performOnce(e.once.None(from, m.Section, m.Deaths))
	}
}

// Torn implements transport.Receiver. Nothing of a torn update may be seen:
// a staged one is dropped, one in place is undone.
func (r *receiver) Torn(h *transport.Header, n int) {
	switch h.Channel {
	case transport.ChannelMessage:
		if r.begun != nil {
			r.begun.Torn(h, n)
		}
		return
	case transport.ChannelRecovery:
		return
	}
	e := r.e
	e.mu.Lock()
	r.filled()
	if e.incarnations[r.from] != h.Incarnation {
		r.drop()
		e.mu.Unlock()
		return
	}
	if _, u, ok := r.parse(h); ok && r.place == section.Into {
		if _, mode, _ := update.InPlace(e.open.Tasks[u.Task].Regions); mode == update.InOut && e.receive == job.ReceiveInPlace {
			r.snapshot.Restore()
		}
		e.machine.Torn(u)
	}
	e.stats.total.UpdatesTorn++
	r.place = section.Stage
	if r.buf != nil {
		e.staged.put(r.buf)
		r.buf = nil
	}
	e.mu.Unlock()
	e.changed()
}

// Lost implements transport.Receiver: an update that a broken connection took
// with it.
func (r *receiver) Lost(h *transport.Header) {
	if h.Channel != transport.ChannelSection { // no other frame is soft
		return
	}
	e := r.e
	e.mu.Lock()
	if e.incarnations[r.from] != h.Incarnation {
		e.mu.Unlock()
		return // of an incarnation that is over
	}
	if m, u, ok := r.parse(h); ok && m.Kind == update.KindUpdate {
		err := e.machine.Lost(u)
		if err == nil && m.Next > 0 { // the claim that went with it is not lost
			u.Task = m.Next - 1
			err = e.machine.Claimed(u, e.now())
		}
		if err != nil {
			e.fail(err)
		}
		e.stats.total.UpdatesLost++
	}
	e.mu.Unlock()
	e.changed()
}

// Closed implements transport.Receiver.
func (r *receiver) Closed(err error) {
	r.e.linkClosed(r.from, r.incarnation)
	if err != nil && !errors.Is(err, transport.ErrClosed) {
		r.e.head.Suspect(job.Endpoint{Process: r.from, Incarnation: r.incarnation}, err)
	}
}
