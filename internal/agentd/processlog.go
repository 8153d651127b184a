package agentd

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/recovery"
)

// processLog is what an agent holds of one process for the head, and so that another
// head can be told all that this one was.
type processLog struct {
	name    agentwire.Name
	pid     int    // once it is started
	joined  bool   // it has proved itself
	voiced  bool   // what it writes is output
	resumed uint32 // the generation in which that went on somewhere else last
	buffers [output.Crashes]*output.ReplayBuffer
	stdin   *agentwire.Inbox
	history []told             // what the head was told, but for output; only the latest of what replaces earlier ones
	said    recovery.Said[int] // which replies in the history, by told.reply
	replies int                // counts them

	// What the process has heard.
	heard  recovery.Heard
	placed bool                   // it has its place
	begun  bool                   // it has its links
	linked map[job.Process]uint32 // of each place, the latest process to which it was given a link as one of both joined
	epoch  uint64                 // verdicts
	freed  bool                   // it may go
}

// told is a frame that the head was sent.
type told struct {
	kind  agentwire.Kind
	body  []byte
	about string // what a later one replaces
	reply int    // number of a reply about recovery, from 1
	end   bool   // the program has returned

	// A message whose time counts, and when it came.
	dated *job.Message
	at    time.Duration
}

// again is the body for another head, at a later time of the same clock.
func (f *told) again(now time.Duration) []byte {
	if f.dated == nil {
		return f.body
	}
	m := *f.dated
	m.Ago = now - f.at
	return agentwire.Encode(m)
}

// note adds to the history what the head is told now. m is the message in the
// frame if it is one.
func (l *processLog) note(f told, m *job.Message, now time.Duration) {
	if m != nil {
		switch m.Kind {
		case job.KindTrace:
			return
		case job.KindStats:
			l.history = slices.DeleteFunc(l.history, func(g told) bool { return g.about == statsAbout })
			f.about = statsAbout
		case job.KindHandled:
			f.dated, f.at = m, now
		case job.KindSuspect, job.KindMended:
			about := "link to " + m.Process.String()
			l.history = slices.DeleteFunc(l.history, func(g told) bool { return g.about == about })
			if f.about = about; m.Kind == job.KindMended {
				return
			}
		case job.KindFinish, job.KindDrained:
			f.end = true
		case job.KindReply:
			if m.Reply.Kind == job.ReplyReady { // in the life that begins the program has not returned
				l.history = slices.DeleteFunc(l.history, func(g told) bool { return g.end })
			}
			l.replies++
			f.reply = l.replies
			l.said.Say(*m.Reply, f.reply)
		}
	}
	l.history = append(l.history, f)
	l.forget()
}

// forget drops the replies that no other head has to hear.
func (l *processLog) forget() {
	said := l.said.All()
	l.history = slices.DeleteFunc(l.history, func(f told) bool { return f.reply > 0 && !slices.Contains(said, f.reply) })
}

// statsAbout marks how far a process is.
const statsAbout = "stats"

// pass reports whether the process is to get m. What it has heard from an
// earlier head it is not told again.
func (l *processLog) pass(m *job.Message) bool {
	switch m.Kind {
	case job.KindSetup:
		if l.placed {
			return false
		}
		l.placed, l.epoch = true, m.Epoch // those before are nothing to it
	case job.KindConnect:
		p := m.Peers[0]
		if p.Incarnation <= l.linked[p.Process] {
			return false
		}
		if l.linked == nil {
			l.linked = make(map[job.Process]uint32)
		}
		l.linked[p.Process] = p.Incarnation
	case job.KindStart:
		if l.begun {
			return false
		}
		l.begun = true
	case job.KindOrder:
		if !l.heard.Pass(*m.Order) {
			return false
		}
		l.said.Order(*m.Order)
		l.forget()
	case job.KindVerdict:
		if m.Verdict.Epoch <= l.epoch {
			return false
		}
		l.epoch = m.Verdict.Epoch
	case job.KindRelease:
		if l.freed {
			return false
		}
		l.freed = true
	}
	return true
}
