package engine

import (
	"bytes"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// updateReceiver receives the frames of another replica that concern sections and Once.
type updateReceiver struct {
	*sharing
	from job.Process

	came time.Duration // time of the last Begin

	// The frame announced by Begin, if that is an update.
	place    section.Place
	buf      *buffer
	snapshot update.Snapshot
}

// Begin implements transport.Receiver.
func (r *updateReceiver) Begin(h *transport.Header) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place, r.came = section.Discard, r.now()
	if r.incarnations[r.from] != h.Incarnation {
		return nil // the frame is from a former incarnation
	}
	m, u, ok := r.parse(h, r.came)
	if !ok {
		return nil // the size in the frame cannot be trusted either
	}
	if m.Kind == update.KindUpdate {
		place, err := r.machine.Announce(u, r.inPlace(u))
		if err != nil {
			r.fail(err)
			return nil
		}
		r.place = place
		switch place {
		case section.Into:
			r.filling.Add(1)
			mem, mode, _ := update.InPlace(r.opened(u.Section).Tasks[u.Task].Regions)
			if mode == update.InOut && r.receive == job.ReceiveInPlace {
				r.snapshot.Take(mem)
			}
			return mem
		case section.Discard:
			r.machine.Refused(u)
			defer r.changed()
		}
	}
	r.buf = r.staged.get(int(h.Size))
	return r.buf.mem
}

// filled records that the frame is no longer being written into the program's memory.
func (r *updateReceiver) filled() {
	if r.place == section.Into {
		r.filling.Add(-1)
	}
}

// drop releases the buffer of a frame.
func (r *updateReceiver) drop() {
	if r.place = section.Discard; r.buf != nil {
		r.staged.put(r.buf)
		r.buf = nil
	}
}

// inPlace reports whether an update may be received straight into the memory of its task.
// That requires that the task has one written region, of the size of the update.
func (h *sharing) inPlace(u section.Update) bool {
	s := h.opened(u.Section)
	if h.receive == job.ReceiveStaged || h.retired || s == nil || u.Task >= len(s.Tasks) {
		return false
	}
	mem, _, ok := update.InPlace(s.Tasks[u.Task].Regions)
	return ok && int64(len(mem)) == u.Size
}

// parse returns the message of a frame that came at that time.
func (r *updateReceiver) parse(h *transport.Header, came time.Duration) (update.Message, section.Update, bool) {
	m, err := update.ParseMessage(h)
	if err != nil {
		r.fail(fmt.Errorf("from %s: %w", r.from, err))
		return m, section.Update{}, false
	}
	return m, section.Update{Peer: r.from.Replica, Section: m.Section, Task: m.Task, Tasks: m.Tasks,
		Signature: m.Signature, Size: int64(h.Size), At: time.Duration(m.At), Came: came}, true
}

// End implements transport.Receiver.
func (r *updateReceiver) End(h *transport.Header, payload []byte) {
	payload = r.flipUpdate(h, payload)
	r.mu.Lock()
	r.filled()
	if r.incarnations[r.from] != h.Incarnation {
		r.drop()
		r.mu.Unlock()
		return
	}
	m, u, ok := r.parse(h, r.came)
	if ok && m.Kind == update.KindUpdate {
		r.update(u, payload)
		if m.Next > 0 {
			u.Task = m.Next - 1
			if err := r.machine.Claimed(u, u.Came); err != nil {
				r.fail(err)
			}
		}
	} else if ok {
		r.word(m, u, payload)
	}
	if r.buf != nil {
		r.staged.put(r.buf)
		r.buf = nil
	}
	r.mu.Unlock()
	if m.Kind == update.KindKept {
		r.keeper.flush()
	}
	r.changed()
}

// update handles a complete update. Its bytes lie in the memory of the task, in a buffer
// of this process, or in the memory of the link. In the last case they are copied if the
// update is kept for later.
func (r *updateReceiver) update(u section.Update, payload []byte) {
	b, placed := r.buf, r.buf == nil && u.Size > 0 && r.place == section.Into
	if b != nil && r.place == section.Discard {
		return
	}
	r.buf, r.place = nil, section.Stage
	borrowed := b == nil
	if borrowed {
		b = r.staged.lend(payload)
	}
	acts, err := r.machine.Arrive(u, b, placed)
	if err == nil {
		err = r.perform(r.opened(u.Section), acts)
	}
	if err != nil {
		r.fail(err)
		return
	}
	if placed {
		s := r.opened(u.Section)
		r.stats.received(s.Tasks[u.Task].known, 1)
		r.traceUpdate(timeline.Received, s, u.Task, u.Peer)
		return
	}
	if borrowed && len(acts) == 0 {
		r.staged.own(b)
	}
}

// word handles a frame that is not an update.
func (r *updateReceiver) word(m update.Message, u section.Update, payload []byte) {
	from := r.from.Replica
	switch m.Kind {
	case update.KindClaim:
		if err := r.machine.Claimed(u, u.Came); err != nil {
			r.fail(err)
		}
	case update.KindEntered:
		if err := r.machine.Entered(u); err != nil {
			r.fail(err)
		}
	case update.KindBye:
		if err := r.machine.Finished(from, m.Section); err != nil {
			r.fail(err)
		}
		if v := r.verifier; v != nil {
			v.states.Finished(from)
		}
		r.watch.returned(from)
	case update.KindVerify:
		if err := r.verifier.handleMessage(m, u, payload); err != nil {
			r.fail(fmt.Errorf("from %v: %w", r.from, err))
		}
	case update.KindWatch:
		if err := r.watch.handleMessage(from, m, payload); err != nil {
			r.fail(fmt.Errorf("from %v: %w", r.from, err))
		}
	case update.KindKept:
		own := payload
		if r.buf == nil { // the bytes are in memory of the link
			own = bytes.Clone(payload)
		}
		r.buf = nil
		if err := r.keeper.arrive(m, own); err != nil {
			r.fail(fmt.Errorf("from %v: %w", r.from, err))
		}
	case update.KindOnceResult:
		r.performOnce(r.once.Result(from, m.Section, append([]byte(nil), payload...)))
	case update.KindOnceHave:
		r.once.Have(from, m.Section)
	case update.KindOnceQuery:
		r.performOnce(r.once.Query(from, m.Section, m.Deaths))
	case update.KindOnceNone:
		r.performOnce(r.once.None(from, m.Section, m.Deaths))
	}
}

// Torn implements transport.Receiver. No byte of a torn update may remain: a staged update
// is discarded, and an update in place is undone.
func (r *updateReceiver) Torn(h *transport.Header, _ int) {
	r.mu.Lock()
	r.filled()
	if r.incarnations[r.from] != h.Incarnation {
		r.drop()
		r.mu.Unlock()
		return
	}
	if _, u, ok := r.parse(h, r.came); ok && r.place == section.Into {
		if _, mode, _ := update.InPlace(r.opened(u.Section).Tasks[u.Task].Regions); mode == update.InOut && r.receive == job.ReceiveInPlace {
			r.snapshot.Restore()
		}
		r.machine.Torn(u)
	}
	r.stats.total.UpdatesTorn++
	r.place = section.Stage
	if r.buf != nil {
		r.staged.put(r.buf)
		r.buf = nil
	}
	r.mu.Unlock()
	r.changed()
}

// Lost implements transport.Receiver. The update was lost with a broken connection.
func (r *updateReceiver) Lost(h *transport.Header) {
	r.mu.Lock()
	if r.incarnations[r.from] != h.Incarnation {
		r.mu.Unlock()
		return // the frame is from a former incarnation
	}
	if m, u, ok := r.parse(h, r.now()); ok && m.Kind == update.KindUpdate {
		err := r.machine.Lost(u)
		if err == nil && m.Next > 0 { // the header also carried a claim, which still counts
			u.Task = m.Next - 1
			err = r.machine.Claimed(u, r.now())
		}
		if err != nil {
			r.fail(err)
		}
		r.stats.total.UpdatesLost++
	}
	r.mu.Unlock()
	r.changed()
}

// perform carries out the actions that follow from a received frame about s. The caller
// holds the lock.
func (h *sharing) perform(s *Section, acts []section.Action) error {
	for _, a := range acts {
		switch a.Kind {
		case section.Apply:
			l := &s.Tasks[a.Task]
			b := a.Token.(*buffer)
			if err := update.Apply(l.Regions, b.mem); err != nil {
				return fmt.Errorf("%w: task %d (%s): replica %d sent %w", ErrDiverged, a.Task, l.Kernel.Name, a.Peer, err)
			}
			h.stats.received(l.known, 1)
			h.traceUpdate(timeline.Received, s, a.Task, a.Peer)
			h.staged.put(b)
		case section.Drop:
			h.staged.put(a.Token.(*buffer))
		}
	}
	return nil
}

// Closed implements transport.Receiver.
func (r *updateReceiver) Closed(error) {}
