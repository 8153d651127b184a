package agentd

import (
	"cmp"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// processLog is what an agent holds of one process for the head, and so that another
// head can be told all that this one was.
type processLog struct {
	buffers [output.Crashes]*output.ReplayBuffer
	stdin   *agentwire.Inbox
	history []told    // what the head was told, but for output; only the latest of what replaces earlier ones
	epoch   uint64    // verdicts that the process was told
	begun   bool      // it has its links
	left    job.Order // cut that it was told to leave last
	freed   bool      // it may go
}

// told is a frame that the head was sent.
type told struct {
	kind  agentwire.Kind
	body  []byte
	about string // what a later one replaces
	set   uint64 // of files, if it is about one

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
		case job.KindReply:
			switch r := m.Reply; r.Kind {
			case job.ReplyFirst:
			case job.ReplyDrained:
				f.about = drainedAbout
				l.history = slices.DeleteFunc(l.history, func(g told) bool { return g.about == drainedAbout })
			case job.ReplySaved: // that one could not be written may be said before the one before it is
				f.set = r.Set
				l.history = slices.DeleteFunc(l.history, func(g told) bool { return g.set > 0 && g.set+1 < r.Set })
			default: // about processes and backups of which only that head knows
				return
			}
		}
	}
	l.history = append(l.history, f)
}

// statsAbout marks how far a process is, drainedAbout that it waits in a cut.
const (
	statsAbout   = "stats"
	drainedAbout = "drained"
)

// pass reports whether the process is to get m. What it has heard from an
// earlier head it is not told again.
func (l *processLog) pass(m *job.Message) bool {
	switch m.Kind {
	case job.KindStart:
		if l.begun {
			return false
		}
		l.begun = true
	case job.KindOrder:
		o := m.Order
		if o.Kind != job.OrderGo {
			break
		}
		if cmp.Or(cmp.Compare(o.Generation, l.left.Generation), cmp.Compare(o.Number, l.left.Number)) <= 0 {
			return false
		}
		l.left = *o
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
