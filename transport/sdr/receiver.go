package sdr

import (
	"fmt"

	"github.com/intrahpc/intra/transport"
)

// Receiver returns the receiver of the frames of transport.ChannelMessage from a process.
func (e *Engine) Receiver(rank, replica int) transport.Receiver {
	e = e.lock()
	defer e.mu.Unlock()
	return receiver{e, e.core.job.index(rank, replica)}
}

type receiver struct {
	e *Engine
	p int
}

func (r receiver) Begin(h *transport.Header) []byte {
	r.e = r.e.lock()
	defer r.e.flushAndUnlock()
	if r.e.aborted {
		return nil
	}
	place := r.e.core.incoming.Begin(r.p, h)
	r.e.lent[r.p] = place != nil
	return place
}

func (r receiver) End(h *transport.Header, payload []byte) {
	r.e = r.e.lock()
	if !r.e.aborted {
		if req := r.e.core.takeNext(r.p, h, payload); req != nil {
			r.e.completed++
			r.e.complete(req)
			if len(r.e.core.out.actions) > 0 {
				r.e.flush(true)
				return
			}
			r.e.mu.Unlock() // takeNext leaves no other event to handle
			r.e.cfg.Poller.Wake()
			return
		}
	}
	r.e.lent[r.p] = false
	wake := r.e.over() // Released may wait
	if !r.e.aborted {
		if err := r.e.core.end(r.p, h, payload); err != nil {
			r.e.fail(fmt.Errorf("%w: %w", ErrJobEnded, err))
			wake = true
		}
	}
	r.e.flushAndUnlock()
	if wake {
		r.e.cfg.Poller.Wake()
	}
}

func (r receiver) Torn(h *transport.Header, _ int) {
	r.e = r.e.lock()
	r.e.lent[r.p] = false
	wake := r.e.over() // Released may wait
	if !r.e.aborted {
		r.e.core.incoming.Torn(r.p, h)
	}
	r.e.flushAndUnlock()
	if wake {
		r.e.cfg.Poller.Wake()
	}
}

// Lost does nothing: no frame of this channel is droppable.
func (r receiver) Lost(*transport.Header) {}

// Closed does nothing: a lost link does not mean that the process is dead; Dead reports
// deaths.
func (r receiver) Closed(error) {}
