package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// outgoing is a frame and the link it goes to.
type outgoing struct {
	link  transport.Link
	frame *transport.Frame
}

// outFrame is a frame that this process sends.
type outFrame struct {
	frame   transport.Frame
	sharing *sharing
	section *Section // section of an update
	timed   bool     // it is an update that is long enough to measure the bandwidth
	queued  time.Duration
	copied  []byte        // memory for the payload, which the next frame uses again
	use     *atomic.Int32 // use of the image of which the payload is a part, or nil
}

// mostCopied bounds the memory that an unused outFrame keeps.
const mostCopied = 1 << 20

// outFrames holds frames for reuse. Every claim and update needs a frame, and the link
// returns it after sending it.
var outFrames = sync.Pool{New: func() any { return new(outFrame) }}

// outFrame returns a frame with m as its header.
func (h *sharing) outFrame(m update.Message) *transport.Frame {
	p := outFrames.Get().(*outFrame)
	p.sharing = h
	p.frame.Header = m.Header(h.setup.Incarnation)
	p.frame.Owner = p
	return &p.frame
}

// entered informs the peers that this replica has entered s. Peers that are behind then
// need not send it results of earlier sections.
func (w *worker) entered(s *Section) {
	for _, link := range w.sharing.peers {
		if link != nil {
			w.out = append(w.out, outgoing{link: link, frame: w.sharing.outFrame(w.entry(s))})
		}
	}
}

// entry returns the message that informs peers that this replica is in s.
func (w *worker) entry(s *Section) update.Message {
	return update.Message{Kind: update.KindEntered, Section: s.Number, Tasks: len(s.Tasks),
		Signature: w.sharing.machine.Signature(), At: int64(w.sharing.now())}
}

// flush sends w.out. It is called by the worker's goroutine, without the lock.
func (w *worker) flush() {
	for i, o := range w.out {
		if p := o.frame.Owner.(*outFrame); p.timed {
			p.queued = w.sharing.now()
		}
		if q, ok := o.link.(transport.Queuer); ok && slices.ContainsFunc(w.out[i+1:], func(next outgoing) bool { return next.link == o.link }) {
			q.Queue(o.frame)
			continue
		}
		o.link.Send(o.frame)
	}
	w.out = w.out[:0]
}

// notify sends a frame that refers to no memory of the program.
func (h *sharing) notify(replica int, m update.Message, payload ...[]byte) {
	link := h.peers[replica]
	if link == nil {
		return
	}
	f := h.outFrame(m)
	f.Payload = append(f.Payload[:0], payload...)
	link.Send(f)
}

// Sent implements transport.Owner. It ignores errors, because they mean that the peer or
// this process is dead.
func (p *outFrame) Sent(f *transport.Frame, err error) {
	h := p.sharing
	isUpdate := update.Kind(f.Header.Kind) == update.KindUpdate
	if p.timed && err == nil {
		h.bandwidth.sent(int(f.Header.Size), p.queued, h.now())
	}
	s := p.section
	if p.use != nil {
		p.use.Add(-1)
	}
	copied := p.copied[:0]
	if cap(copied) > mostCopied {
		copied = nil
	}
	clear(f.Payload)
	*p = outFrame{frame: transport.Frame{Payload: f.Payload[:0]}, copied: copied}
	outFrames.Put(p)
	if isUpdate {
		all, own := h.pending.Add(-1), s.pending.Add(-1)
		if all == 0 || own == 0 {
			h.poller.Wake()
		}
	}
}
