package launch

import (
	"fmt"
	"net"
	"os"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// successor is an agent that acts as the head after the loss of the previous one. It waits
// until the agents of all remaining hosts have connected. Then it makes a head from the
// decisions so far and the agents' reports.
type successor struct {
	lead   *agentd.Lead
	engine engine
	job    Job
	state  *decision.State
	came   map[string]*agentd.Incoming // by host

	// These events happened before this head was made, and the user has to learn of them.
	news  int              // number of verdicts
	early []arbiter.Action // changes of the hosts that replicate the decisions
}

// run runs the head, and returns the exit code of the job.
func (s *successor) run() (code int) {
	defer func() {
		for _, a := range s.came {
			a.Conn.Close()
		}
	}()
	if !s.gather() {
		return ExitLost
	}
	files, errs := s.open()
	console := output.NewConsole(files[output.Stdout], files[output.Stderr])
	for kind, err := range errs {
		if err != nil {
			fmt.Fprintln(os.Stderr, "intrarun:", err)
			console.Lose(output.Stream(kind), err)
		}
	}
	w := s.follow(newDriver(&s.job, console, s.lead.Entered))
	defer func() { w.folder.release(code) }()
	if w.page != nil {
		defer w.page.Close()
	}
	over := make(chan struct{})
	go func() {
		for _, a := range s.early {
			w.take(a)
		}
		for {
			select {
			case a := <-s.lead.Actions:
				w.take(a)
			case <-over:
				return
			}
		}
	}()
	w.loop(nil)
	code = w.conclude()
	w.dismiss(code)
	if code != ExitHandedOver {
		w.warnf("exit code %d", code)
	}
	code = closed(console, code)
	for _, f := range files {
		if f != os.Stdout && f != os.Stderr {
			_ = f.Close() // write errors were reported before
		}
	}
	close(over)
	return code
}

// gather waits for the agents. If this agent must not become the head, it returns false.
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
				s.news += len(s.state.Apply(a.Entry))
			case arbiter.Deciders:
				s.early = append(s.early, a)
			case arbiter.Yield, arbiter.Fence, arbiter.Broken:
				return false
			}
		case <-s.lead.Wake:
		case <-s.lead.Over:
			return false
		}
	}
}

// complete reports whether every host is connected or lost.
func (s *successor) complete() bool {
	for i, h := range s.hosts() {
		if !s.lost(i) && s.came[h.Name] == nil {
			return false
		}
	}
	return true
}

// hosts returns the hosts of the start, and those that have joined, in the order of their nodes.
// Addr is where their processes listen.
func (s *successor) hosts() (all []job.Host) {
	for i, h := range s.job.Placement.Hosts {
		h.Addr, _, _ = net.SplitHostPort(s.lead.Info.Addresses[agentOf(i)]) // prepare made the address with JoinHostPort
		all = append(all, h)
	}
	for _, h := range s.state.Hosts {
		all = append(all, job.Host{Name: h.Name, Slots: h.Slots, Rack: h.Rack, Addr: h.Listen})
	}
	return all
}

// lost reports whether a host was declared lost.
func (s *successor) lost(i int) bool {
	_, lost := s.state.Lost[agentOf(i)]
	return lost
}

// open opens the files for output. It opens as many of them as it can.
func (s *successor) open() (files [output.Crashes]*os.File, errs [output.Crashes]error) {
	files = [...]*os.File{os.Stdout, os.Stderr}
	name := s.lead.Info.Output
	if name == "" {
		return files, errs
	}
	for kind, end := range [...]string{".out", ".err"} {
		f, err := os.OpenFile(name+end, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			errs[kind] = fmt.Errorf("open the file for output: %w", err)
			continue
		}
		files[kind] = f
	}
	return files, errs
}

// follow creates the head that continues the job.
func (s *successor) follow(d *driver) *hosts {
	d.adopted, d.folder = make(map[head.From]agentd.ProcessResync), s.job.inheritFolder()
	var remotes []*remote
	var agents []head.Resync
	for i, host := range s.hosts() {
		a := s.came[host.Name]
		if a == nil || s.lost(i) {
			remotes = append(remotes, absent(&host))
			continue
		}
		r := newRemote(&host, a.Conn)
		r.listen = host.Addr
		has := head.Resync{Node: agentOf(i)}
		for _, x := range a.Resync.Processes {
			r.adopt(x.Of())
			d.adopted[head.From{Node: agentOf(i), ID: x.ID, Incarnation: x.Incarnation}] = x
			has.Processes = append(has.Processes, head.Resynced(x.State))
		}
		agents, remotes = append(agents, has), append(remotes, r)
		delete(s.came, host.Name)
	}
	w := d.attach(s.engine, remotes)
	w.replicate()
	hc := s.job.head(s.job.nodes(remotes[:len(s.job.Placement.Hosts)]))
	hc.Self, hc.Home, hc.FirstHost, hc.Doubtful, hc.Replicated = s.lead.Self, s.lead.Self, s.lead.Roster[0].Host, w.doubtful, true
	hc.Setup.Trace = false
	for _, r := range d.outputs.ranks {
		r.Lost()
	}
	var acts []head.Action
	d.head, acts = head.Restore(hc, head.Succession{State: s.state, News: s.news, Agents: agents, Term: s.lead.Term, Joined: s.lead.Began.Sub(d.began)}, d.now())
	s.announce(d)
	d.takePage(s.lead.Info, s.lead.Self)
	d.do(acts)
	for of := range d.adopted {
		w.remote[of.Node-agentd.FirstAgent].play(name(of))
	}
	w.listen()
	return w
}

// announce reports the host of the new head.
func (s *successor) announce(d *driver) {
	from, why := s.lead.Roster[0].Host, ""
	if id := s.lead.After; id != 0 {
		from, why = s.lead.Host(id), ", which has handed over"
	} else if loss, lost := s.state.Lost[arbiter.Head]; lost {
		why = fmt.Sprintf(": it has not been heard from (%s)", d.head.Sightings(loss.Testimonies))
	}
	d.warnf("%s is the new head, in place of the one on %s%s", s.lead.Host(s.lead.Self), from, why)
	if s.job.Trace != "" {
		d.warnf("warning: the timeline of -trace was lost with the head")
	}
}

// absent returns a remote for the agent of a lost host.
func absent(h *job.Host) *remote {
	r := newRemote(h, agentwire.Ended())
	r.listen, r.over = h.Addr, true
	return r
}
