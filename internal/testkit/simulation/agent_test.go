package simulation

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// hostLog is the log of the agent of a host, and processLog is the part of one process.
type (
	hostLog    = agentlog.Host[head.Event, *process]
	processLog = agentlog.Process[head.Event, *process]
)

// account is what an agent knows about a process.
type account struct {
	from    head.From
	log     *processLog
	mail    []head.Action // messages from the head, in flight to the agent
	exited  bool          // the process has ended, and its agent knows this
	lost    bool          // the host of the process is lost
	held    int           // number of messages in flight to the head that are in the log, so they are not lost with the process
	epoch   uint64        // epoch of the last verdict that the process has received
	handled map[uint64]time.Duration
}

// agent returns the log of the agent of a host.
func (w *world) agent(node detect.ID) *hostLog {
	if w.agents[node] == nil {
		w.agents[node] = new(hostLog)
	}
	return w.agents[node]
}

// name returns the name by which its agent knows a process.
func name(f head.From) agentlog.Name {
	return agentlog.Name{ID: f.ID, Incarnation: f.Incarnation}
}

// replaced reports whether another process was started in the slot.
func (p *process) replaced() bool { return p.w.agent(p.from.Node).Find(name(p.from)) != p.log }

// note records in the agent's log an event of the process.
func (p *process) note(e head.Event) {
	switch e := e.(type) {
	case head.Quiet: // an answer of the process
		return
	case head.Said:
		if e.Message.Kind == job.KindHandled {
			p.handled[e.Message.Epoch] = p.now()
		}
		p.log.Say(e.Message, p.now())
		return
	case head.Started:
		p.log.PID = e.PID
	case head.Joined:
		p.log.Joined = true
	}
	p.log.Note(e)
}

// repeat queues all messages about the process that another head needs.
func (p *process) repeat() {
	p.says = nil
	for _, s := range p.log.Repeat(p.now()) {
		e := s.Seen
		if m := s.Message; m != nil {
			e = head.Said{From: p.from, Message: m}
			if at := p.handled[m.Epoch]; m.Kind == job.KindHandled && p.now()-m.Ago != at {
				p.w.fail("%v has handled verdict %d at %v, and its agent reports %v", p, m.Epoch, at, p.now()-m.Ago)
			}
		}
		p.says = append(p.says, e)
	}
	p.held = len(p.says)
}

// end returns the end of the process as reported by its agent.
func (p *process) end() head.Exited {
	if p.dead {
		return head.Exited{From: p.from, Exit: head.Exit{Status: syscall.WaitStatus(syscall.SIGKILL), Text: "signal: killed"}}
	}
	return head.Exited{From: p.from, Exit: head.Exit{Text: "exit status 0"}}
}

// resync returns the reports of the agents of all hosts that are not lost.
func (w *world) resync() (all []head.Resync) {
	for _, id := range w.nodes {
		if !w.there(id) {
			continue
		}
		r := head.Resync{Node: id}
		for _, p := range w.agent(r.Node).All() {
			r.Processes = append(r.Processes, head.Resynced(p.State))
		}
		all = append(all, r)
	}
	return all
}

// receive makes the agent receive the next n messages of the head.
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
			p.log.Resume(a.Generation)
		case head.Link:
			p.linkEnd(a)
		case head.Send:
			if !p.dead && p.pass(a.Message) {
				p.events = append(p.events, a.Message)
			}
		}
	}
	p.mail = append(p.mail[:0], p.mail[n:]...)
}

// linkEnd gives the process its end of a link.
func (p *process) linkEnd(a head.Link) {
	id, peer, own := a.Higher, a.Meet[1], a.Meet[0]
	if p.from.ID == a.Higher {
		id, peer, own = a.Lower, own, peer
	}
	fresh := p.w.agent(p.from.Node).Link(agentlog.Name{ID: p.from.ID, Incarnation: own.Incarnation}, agentlog.Name{ID: id, Incarnation: peer.Incarnation})
	if fresh && !p.dead {
		p.events = append(p.events, &job.Message{Kind: job.KindConnect, Peers: []job.Peer{peer}})
	}
}

// pass reports whether the agent passes a message on to the process. The process must
// receive all verdicts in order.
func (p *process) pass(m *job.Message) bool {
	if !p.log.Pass(m) {
		return false
	}
	switch m.Kind {
	case job.KindSetup:
		p.epoch = m.Epoch
	case job.KindVerdict:
		if m.Verdict.Epoch != p.epoch+1 {
			p.w.fail("%v receives verdict %d after %d", p, m.Verdict.Epoch, p.epoch)
		}
		p.epoch = m.Verdict.Epoch
	}
	return true
}
