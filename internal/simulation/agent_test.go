package simulation

import (
	"slices"
	"syscall"

	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// account is what the agent of a host holds of one process, as that of package
// agentd does: what it repeats to another head, and what it keeps from the process
// because that has heard it.
type account struct {
	from      head.From
	mail      []head.Action // from the head, on their way to the agent
	up        bool          // it has been started, and has proved itself
	exited    bool          // it is gone, as its agent knows
	again     bool          // which another head has to hear
	forgotten bool          // another one was started in its place
	lost      bool          // its host is
	history   []told
	said      recovery.Said[int] // which replies in the history, by told.reply
	replies   int                // counts them

	// What the process has heard.
	heard      recovery.Heard
	placed     bool
	begun      bool
	ends       map[job.Process]uint32 // of each place, the latest process to which it was given a link
	epoch      uint64
	freed      bool
	voiced     bool   // what it writes is output
	generation uint32 // of the last Resume
}

// told is what a head was told.
type told struct {
	event head.Event
	about job.Process // the link that has ended
	link  bool
	end   bool // the program has returned
	reply int  // its number, from 1
}

// agentID is by which the agent of a host knows a process.
type agentID struct {
	node detect.ID
	id   job.Process
}

// note adds to the history what a head is told.
func (p *process) note(e head.Event) {
	t := told{event: e}
	switch e := e.(type) {
	case head.Quiet: // an answer
		return
	case head.Said:
		switch m := e.Message; m.Kind {
		case job.KindSuspect:
			p.history = slices.DeleteFunc(p.history, func(o told) bool { return o.link && o.about == *m.Process })
			t.link, t.about = true, *m.Process
		case job.KindFinish, job.KindDrained:
			t.end = true
		case job.KindReply:
			if m.Reply.Kind == job.ReplyReady { // in the life that begins the program has not returned
				p.history = slices.DeleteFunc(p.history, func(o told) bool { return o.end })
			}
			p.replies++
			t.reply = p.replies
			p.said.Say(*m.Reply, t.reply)
		}
	}
	p.history = append(p.history, t)
}

// repeat is what another head is told first.
func (p *process) repeat() (all []head.Event) {
	said := p.said.All()
	p.history = slices.DeleteFunc(p.history, func(t told) bool { return t.reply > 0 && !slices.Contains(said, t.reply) })
	for _, t := range p.history {
		all = append(all, t.event)
	}
	return all
}

// end is how its agent has seen the process go.
func (p *process) end() head.Exited {
	if p.dead {
		return head.Exited{From: p.from, Exit: head.Exit{Status: syscall.WaitStatus(syscall.SIGKILL), Text: "signal: killed"}}
	}
	return head.Exited{From: p.from, Exit: head.Exit{Text: "exit status 0"}}
}

// resync says what the agents of all hosts have that are not lost.
func (w *world) resync() (all []head.Resync) {
	for i := range w.spec.hosts {
		r := head.Resync{Node: firstNode + detect.ID(i)}
		if w.lost[r.Node] {
			continue
		}
		for _, p := range w.processes {
			if p.from.Node == r.Node && !p.forgotten {
				r.Processes = append(r.Processes, head.Resynced{ID: p.from.ID, Incarnation: p.from.Incarnation, PID: 1, Joined: p.up, Begun: p.begun,
					Voiced: p.voiced, Generation: p.generation, Freed: p.freed})
			}
		}
		all = append(all, r)
	}
	return all
}

// receive has the agent take the next n words of the head.
func (p *process) receive(n int) {
	for _, a := range p.mail[:n] {
		switch a := a.(type) {
		case head.Kill:
			p.w.kill(p, "head")
		case head.AskQuiet:
			if !p.dead {
				p.says = append(p.says, head.Quiet{From: p.from, Number: a.Number})
			}
		case head.Resume:
			p.voiced, p.generation = true, a.Generation
		case head.Send:
			if !p.dead && p.pass(a.Message) {
				p.events = append(p.events, a.Message)
			}
		}
	}
	p.mail = append(p.mail[:0], p.mail[n:]...)
}

// pass reports whether the process is to get a message. What it has heard from an
// earlier head it is not told again.
func (p *process) pass(m *job.Message) bool {
	switch m.Kind {
	case job.KindSetup:
		if p.placed {
			return false
		}
		p.placed, p.epoch = true, m.Epoch
	case job.KindConnect:
		q := m.Peers[0]
		if q.Incarnation <= p.ends[q.Process] {
			return false
		}
		if p.ends == nil {
			p.ends = make(map[job.Process]uint32)
		}
		p.ends[q.Process] = q.Incarnation
	case job.KindStart:
		if p.begun {
			return false
		}
		p.begun = true
	case job.KindOrder:
		if !p.heard.Pass(*m.Order) {
			return false
		}
		p.said.Order(*m.Order)
	case job.KindVerdict:
		if m.Verdict.Epoch <= p.epoch {
			return false
		}
		if m.Verdict.Epoch != p.epoch+1 {
			p.w.fail("%v hears of verdict %d after %d", p, m.Verdict.Epoch, p.epoch)
		}
		p.epoch = m.Verdict.Epoch
	case job.KindRelease:
		if p.freed {
			return false
		}
		p.freed = true
	}
	return true
}
