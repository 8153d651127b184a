package intra

import (
	"sync"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// outgoing is a frame and the link it goes to.
type outgoing struct {
	link  transport.Link
	frame *transport.Frame
}

// framePool keeps frames, which are needed for every claim and update.
var framePool = sync.Pool{New: func() any { return new(transport.Frame) }}

// frames makes the frames that the machine wants sent. They are sent without
// the lock, since a link may call back.
func (e *engine) frames(s *Section, acts []section.Action) []outgoing {
	out := e.out[:0] // used by the goroutine of the program only
	for _, a := range acts {
		link := e.peers[a.Peer]
		if link == nil {
			continue
		}
		m := update.Message{Kind: update.KindClaim, Section: e.machine.Number(), Task: a.Task,
			Tasks: len(s.tasks), Signature: e.machine.Signature()}
		f := framePool.Get().(*transport.Frame)
		if a.Kind == section.Send {
			m.Kind = update.KindUpdate
			f.Payload = update.Payload(f.Payload[:0], s.tasks[a.Task].regions)
			f.Mid = e.kills.mid(job.KillUpdate)
			e.pending.Add(1)
			e.stats.sent(s.tasks[a.Task].task, update.Size(s.tasks[a.Task].regions))
			e.trace.update(job.TraceSend, s, a.Task, a.Peer, e.now())
		}
		f.Header = m.Header(e.setup.Incarnation)
		f.Owner = e
		out = append(out, outgoing{link, f})
	}
	e.out = out
	return out
}

func (e *engine) send(out []outgoing) {
	for _, o := range out {
		o.link.Send(o.frame)
	}
}

// notify sends a frame without memory of the program.
func (e *engine) notify(replica int, m update.Message, payload ...[]byte) {
	link := e.peers[replica]
	if link == nil {
		return
	}
	f := framePool.Get().(*transport.Frame)
	f.Header = m.Header(e.setup.Incarnation)
	f.Payload = append(f.Payload[:0], payload...)
	f.Owner = e
	link.Send(f)
}

// Sent implements transport.Owner. A frame that could not be handed over is
// forgotten: its peer is dead, or this process is.
func (e *engine) Sent(f *transport.Frame, _ error) {
	isUpdate := update.Kind(f.Header.Kind) == update.KindUpdate
	clear(f.Payload)
	*f = transport.Frame{Payload: f.Payload[:0]}
	framePool.Put(f)
	if isUpdate && e.pending.Add(-1) == 0 {
		e.poller.Wake()
	}
}
