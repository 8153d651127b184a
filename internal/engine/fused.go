package engine

import (
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// room is memory of a link in which a task's update is made.
type room struct {
	link transport.Reserver
	mem  []byte
}

// reserve borrows room for the update of a task from the link to a peer that
// will want it. It returns none for a task that cannot use it, nor where
// several workers run: what the others have to say would wait for the body. It
// is called without the lock, after all frames before have been sent.
func (w *worker) reserve(s *Section, l *Task) (r room, fused func([]byte)) {
	h := w.sharing
	if s.Agree != nil || s.stored || s.Policy == sched.Replicate || l.bytes < large || len(h.workers) > 1 {
		return room{}, nil
	}
	for i := range l.Regions {
		if g := &l.Regions[i]; g.Fused != nil && len(g.Mem) == l.bytes {
			fused = g.Fused
		}
	}
	if fused == nil {
		return room{}, nil
	}
	h.mu.Lock()
	w.links = append(w.links[:0], h.peers...) // one may die meanwhile
	h.mu.Unlock()
	for _, link := range w.links {
		if lender, ok := link.(transport.Reserver); ok {
			if mem := lender.Reserve(l.bytes); mem != nil {
				return room{lender, mem}, fused
			}
		}
	}
	return room{}, nil
}

// commit has the update that was made in a room sent from there by the next
// flush, if its peer still wants it.
func (w *worker) commit(r *room) {
	for i := range w.out {
		if o := &w.out[i]; r.link != nil && o.link == r.link.(transport.Link) && update.Kind(o.frame.Header.Kind) == update.KindUpdate {
			o.room = r.link
			*r = room{}
		}
	}
}

// cancel gives the room back unless it has been used.
func (r *room) cancel() {
	if r.link != nil {
		r.link.Cancel()
		*r = room{}
	}
}
