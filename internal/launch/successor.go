package launch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/agentd"
	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/runreport"
)

// successor is an agent as the head, after the one before it was lost. It waits
// until every agent has come that is not lost, and makes a head of what has been
// decided and of what they tell.
type successor struct {
	lead   *agentd.Lead
	config Config // that of the first head
	state  *arbiter.State
	came   map[string]*agentd.Incoming // by host
}

// run is the life of the head. It returns the exit code of the job.
func (s *successor) run() int {
	defer func() {
		for _, a := range s.came {
			a.Conn.Close()
		}
	}()
	if !s.gather() {
		return ExitLost
	}
	c := s.config
	failed := s.open(&c)
	h := newHead(&c, s.lead.Secret)
	w := s.restore(h)
	over := make(chan struct{})
	go func() {
		for {
			select {
			case a := <-s.lead.Actions:
				w.take(a)
			case <-over:
				return
			}
		}
	}()
	s.begin(h, w, failed)
	h.loop()
	code := h.conclude()
	h.dismiss(w.agents, code)
	h.warnf("exit code %d", code)
	h.console.Close()
	for _, f := range []any{c.Stdout, c.Stderr} {
		if f, ok := f.(*os.File); ok && f != os.Stdout && f != os.Stderr {
			_ = f.Close() // a write that failed was told
		}
	}
	close(over)
	return code
}

// gather waits for the agents. It returns false if this is not to be the head.
func (s *successor) gather() bool {
	for {
		for _, a := range s.lead.Arrived() {
			s.came[a.Host] = a
		}
		if s.complete() {
			return true
		}
		select {
		case a := <-s.lead.Actions:
			switch a := a.(type) {
			case arbiter.Committed:
				s.state.Apply(a.Entry)
			case arbiter.Yield, arbiter.Fence, arbiter.Broken:
				return false
			}
		case <-s.lead.Wake():
		case <-s.lead.Over:
			return false
		}
	}
}

// complete: every host is there or lost.
func (s *successor) complete() bool {
	for i, h := range s.config.Placement.Hosts {
		if _, lost := s.state.Lost[arbiter.ID(agentd.FirstAgent+i)]; !lost && s.came[h.Name] == nil {
			return false
		}
	}
	return true
}

// open opens the files for output.
func (s *successor) open(c *Config) error {
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	name := s.lead.Info.Output
	if name == "" {
		return nil
	}
	out, err := os.OpenFile(name+".out", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the file for output: %w", err)
	}
	errs, err := os.OpenFile(name+".err", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		out.Close()
		return fmt.Errorf("open the file for output: %w", err)
	}
	c.Stdout, c.Stderr = out, errs
	return nil
}

// restore gives h what its predecessors knew.
func (s *successor) restore(h *head) *hosts {
	engine := s.lead.Engine
	w := &hosts{head: h, engine: engine, self: s.lead.Self, name: s.lead.Roster[0].Host, suspected: make(map[arbiter.ID]time.Duration)}
	seats := make(map[job.Process]agentd.ProcessResync)
	for i := range h.config.Placement.Hosts {
		host := &h.config.Placement.Hosts[i]
		a := s.came[host.Name]
		id := arbiter.ID(agentd.FirstAgent + i)
		_, lost := s.state.Lost[id]
		if a == nil || lost {
			w.agents = append(w.agents, absent(host))
			h.lost[w.agents[i]] = true
			continue
		}
		r := newRemote(host, a.Conn)
		r.listen, _, _ = net.SplitHostPort(s.lead.Info.Addresses[id]) // it has come through there
		for _, x := range a.Resync.Processes {
			r.adopt(x.Process)
			seats[x.Process] = x
		}
		w.agents = append(w.agents, r)
		delete(s.came, host.Name)
	}
	h.remotes, h.ledger.returns = w.agents, h.config.replaces()
	h.record = &record{propose: engine.Propose}
	h.enlist(func(p job.Process) (agent, *job.Host) {
		r := w.agents[h.config.Placement.Of[p]]
		return r, r.host
	})
	h.reserve(func(i int) (agent, *job.Host) {
		r := w.agents[h.config.Placement.Spares[i]]
		return r, r.host
	})
	for i := range h.kills {
		h.kills[i].fired = s.state.Notes[firedNote(i)] != nil
	}
	h.began, h.joined = s.lead.Entered, s.lead.Times.Began()
	times := s.lead.Times.Verdicts()
	if h.joined.IsZero() {
		h.joined = time.Now()
	}
	h.phase = working
	for _, m := range h.order {
		if m.old = true; m.spare {
			continue
		}
		at := s.state.Places[m.process]
		m.placed, m.pid = true, at.PID
		if at.Standing == arbiter.Done {
			h.ledger.status[m.process] = finished
		}
		if s.state.Notes[drainedNote(m.process)] != nil {
			h.ledger.drained[m.process.Rank] = true
		}
	}
	for i, v := range s.state.Verdicts {
		at := h.elapsed()
		if i < len(times) {
			at = max(times[i].Sub(h.joined), 0)
		}
		s.repeat(h, w, v, at)
	}
	if s.state.Decided {
		h.ledger.decided, h.ledger.code, h.ledger.text = true, s.state.Code, s.state.Text
	}
	for _, m := range h.order {
		x, there := seats[m.process]
		m.outputs.Begin(x.From)
		if !there {
			m.gone, m.settled = true, true
			m.outputs.Abandon()
			h.left--
		} else if h.ledger.status[m.process] != dead && !x.Begun && !m.spare {
			h.phase = joining // once all are known here they are to begin, again
		}
	}
	if !s.state.Started {
		h.ledger.decide(ExitLost, fmt.Sprintf("the head on %s was lost before all processes had joined", w.name))
	}
	if s.state.Notes[replacedNote] != nil {
		h.ledger.decide(ExitLost, fmt.Sprintf("the head on %s was lost after it had begun to replace processes, and only it knew which process replaces which", w.name))
	}
	return w
}

// revive gives h what its predecessors knew of checkpoint files, and returns
// what is to be done about cuts.
func (s *successor) revive(h *head) ([]recovery.Action, error) {
	h.files = h.newFiles()
	past, err := h.inherit(s.state)
	if err != nil || !h.config.recovers() || s.state.Notes[replacedNote] != nil {
		return nil, err
	}
	var fate recovery.Fate
	for _, v := range s.state.Verdicts {
		fate.Dead = append(fate.Dead, recovery.Death{Process: v.Process, Itself: v.Cause == job.CauseExit || v.Cause == job.CausePanic})
	}
	for _, p := range job.Processes(h.config.Degrees) {
		if s.state.Through[p.Rank] {
			fate.Finished = append(fate.Finished, p)
		}
		if s.state.Notes[drainedNote(p)] != nil {
			fate.Through = append(fate.Through, p)
		}
	}
	var acts []recovery.Action
	h.recovery, acts = h.resumeRecoveryDriver(past, fate)
	h.recovery.asked = s.lead.Term << 32 // not to be taken for what a head before has asked
	return acts, nil
}

// absent is the agent of a host that is lost.
func absent(h *job.Host) *remote {
	r := newRemote(h, agentwire.Ended())
	r.over = true
	return r
}

// repeat repeats a verdict.
func (s *successor) repeat(h *head, w *hosts, v job.Verdict, at time.Duration) {
	v = h.ledger.die(v.Process, v.Incarnation, v.Cause, v.Detail, at)
	m := h.members[v.Process]
	m.dead, m.died, m.end = true, at, endBy(v.Cause)
	f := runreport.NewFailure(v, at)
	if v.Cause == job.CauseHost {
		m.lost = true
		node := arbiter.ID(agentd.FirstAgent + h.config.Placement.Of[v.Process])
		if loss := s.state.Lost[node]; len(loss.Testimonies) > 0 {
			why, evidence := w.why(m.agent.(*remote), arbiter.Entry{Node: node, Testimonies: loss.Testimonies})
			evidence.date(at)
			f.Detail, f.Evidence = why, evidence.reported()
		}
	}
	h.failures = append(h.failures, f)
}

// begin goes on where the job was, before anything is heard of processes. failed
// is why there is no place for output.
func (s *successor) begin(h *head, w *hosts, failed error) {
	why := ""
	if loss, lost := s.state.Lost[arbiter.Head]; lost {
		why = fmt.Sprintf(": it has not been heard from (%s)", w.sightings(loss.Testimonies))
	}
	h.warnf("%s is the head now, in place of the one on %s%s", s.lead.Host(s.lead.Self), w.name, why)
	if h.config.Trace != "" {
		h.warnf("warning: the timeline of -trace was lost with the head")
	}
	if h.config.Weibull != nil {
		h.config.Weibull = nil
		h.warnf("warning: -weibull is disabled: its schedule was lost with the head")
	}
	acts, err := s.revive(h)
	if err = errors.Join(failed, err); err != nil {
		h.ledger.decide(ExitLost, err.Error())
	}
	w.listen()
	h.shareMemory()
	for _, m := range h.order {
		if m.gone || m.spare {
			continue
		}
		for _, v := range h.ledger.verdicts {
			h.send(m, &job.Message{Kind: job.KindVerdict, Verdict: &v})
		}
	}
	if s.state.Released {
		h.phase = released
	}
	h.recovery.perform(acts) // whatever has become of the job, a set may lack only its index
	switch {
	case h.ledger.decided:
		h.settle()
	case s.state.Released:
		h.release()
	case h.phase == working:
		h.armKills()
		h.releaseIfComplete()
	}
	go h.confirm(slices.Clone(h.order))
}
