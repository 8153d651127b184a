package simulation

import (
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// receiver takes the frames of the section channel from one replica.
type receiver struct {
	r        *replica
	from     int
	begun    bool
	place    section.Place
	snapshot update.Snapshot
}

func (c *receiver) parse(h *transport.Header) (update.Message, section.Update, bool) {
	m, err := update.ParseMessage(h)
	c.fail(err)
	return m, section.Update{Peer: c.from, Section: m.Section, Task: m.Task, Tasks: m.Tasks,
		Signature: m.Signature, Size: int64(h.Size)}, err == nil
}

func (c *receiver) fail(err error) {
	if err != nil && c.r.err == nil {
		c.r.err = err
	}
}

// Begin implements transport.Receiver.
func (c *receiver) Begin(h *transport.Header) []byte {
	r := c.r
	_, u, ok := c.parse(h)
	c.begun, c.place = true, section.Discard
	if !ok {
		return nil
	}
	place, err := r.m.Announce(u, c.inPlace(u))
	if err != nil {
		c.fail(err)
		return nil
	}
	c.place = place
	switch place {
	case section.Into:
		mem, mode, _ := update.InPlace(r.tasks[u.Task].regions)
		if mode == update.InOut {
			c.snapshot.Take(mem)
		}
		return mem
	case section.Discard:
		r.m.Refused(u)
		r.changed()
	}
	return make([]byte, h.Size)
}

// inPlace reports whether an update may be received straight into the memory
// of its task.
func (c *receiver) inPlace(u section.Update) bool {
	r := c.r
	if !r.options.inPlace || r.tasks == nil || u.Section != r.m.Number() || u.Task >= len(r.tasks) {
		return false
	}
	mem, _, ok := update.InPlace(r.tasks[u.Task].regions)
	return ok && int64(len(mem)) == u.Size
}

// End implements transport.Receiver.
func (c *receiver) End(h *transport.Header, payload []byte) {
	r := c.r
	m, u, ok := c.parse(h)
	begun := c.begun
	c.begun = false
	switch {
	case !ok:
	case m.Kind == update.KindUpdate && (!begun || c.place != section.Discard):
		acts, err := r.m.Arrive(u, payload, begun && c.place == section.Into)
		if err == nil {
			err = r.perform(acts)
		}
		c.fail(err)
	case m.Kind == update.KindClaim:
		c.fail(r.m.Claimed(u, r.p.Now()))
	case m.Kind == update.KindBye:
		c.fail(r.m.Finished(c.from, m.Section))
	}
	r.changed()
}

// Torn implements transport.Receiver. Nothing of a torn update may be seen.
func (c *receiver) Torn(h *transport.Header, _ int) {
	r := c.r
	c.begun = false
	if _, u, ok := c.parse(h); ok && c.place == section.Into {
		if _, mode, _ := update.InPlace(r.tasks[u.Task].regions); mode == update.InOut {
			c.snapshot.Restore()
		}
		r.m.Torn(u)
	}
	r.changed()
}

// Lost implements transport.Receiver.
func (c *receiver) Lost(h *transport.Header) {
	if _, u, ok := c.parse(h); ok {
		c.fail(c.r.m.Lost(u))
	}
	c.r.changed()
}

// Closed implements transport.Receiver.
func (c *receiver) Closed(error) {}
