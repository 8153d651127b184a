package job

import (
	"fmt"
	"os"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/lazy"
)

// Most pairs of processes of a large job never send each other anything. So a large job
// makes the links within a host at their first use, except those between replicas of a
// rank. The first sender asks its agent, the parent of both processes. The agent makes the
// two ends and gives each process its own.
//
// The agent sends to a process in order. Before it reports the end of a process, it reads
// all messages of that process. So when the verdict on a peer arrives, a link that the peer
// may have used has already arrived. If there is no link, the peer has sent nothing.

// onFirstUse returns the link to a peer, which is made at its first use. If the peer used
// it before this process knew the peer, f is this end of the link. The caller holds mu.
func (s *Session) onFirstUse(p Peer, f *os.File) (transport.Link, error) {
	end := Endpoint{p.Process, p.Incarnation}
	l := lazy.New(func() {
		_ = s.say(&Message{Kind: KindWant, Process: &end.Process, Incarnation: end.Incarnation}) // an error also ends the connection, which Next reports
	})
	if f != nil {
		inner, err := s.openFile(p, f)
		if err != nil {
			return nil, err
		}
		l.Made(inner)
		return l, nil
	}
	if !s.dead[end] {
		s.onUse[end] = &wanted{link: l, peer: p}
	}
	return l, nil
}

// wanted is a link that is made at its first use, and has not been made yet.
type wanted struct {
	link *lazy.Link
	peer Peer
}

// linkCame handles the end of a link that the agent has sent. The link is one from the
// start of the job, or one that this process or its peer has requested.
func (s *Session) linkCame(m *Message, files []*os.File) {
	end := Endpoint{*m.Process, max(m.Incarnation, 1)}
	s.mu.Lock()
	w, dead := s.onUse[end], s.dead[end]
	delete(s.onUse, end)
	if w == nil && len(files) > 0 && !dead {
		s.files[end] = files[0]
		files = nil
	}
	s.mu.Unlock()
	if w == nil {
		for _, f := range files {
			f.Close()
		}
		return
	}
	if len(files) == 0 {
		w.link.Failed(m.Text)
		return
	}
	inner, err := s.openFile(w.peer, files[0])
	if err != nil {
		w.link.Failed(fmt.Sprintf("make the link: %v", err))
		return
	}
	w.link.Made(inner)
}

// openFile makes a link of the descriptor f, with the limit on its bandwidth.
func (s *Session) openFile(p Peer, f *os.File) (transport.Link, error) {
	l, err := s.links.Open(p.Link, f, s.self().Compare(Endpoint{p.Process, p.Incarnation}) > 0)
	if err != nil {
		return nil, err
	}
	return s.limited(l), nil
}
