package launch

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"

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
	came   map[string]*agentd.Incoming // agents that have connected, by host
	relay  *agentd.Incoming            // the intrarun that the user started; nil if it has not connected
	files  [output.Crashes]*os.File    // for output; nil before they are opened

	// These fields record events from before this head was made, which are to be reported to the
	// user.
	unseen int              // number of verdicts
	early  []arbiter.Action // changes of the hosts that replicate the decisions
}

// run runs the head, and returns the exit code of the job.
func (s *successor) run() (code int) {
	defer func() {
		for _, a := range s.came {
			a.Conn.Close()
		}
		if s.relay != nil {
			s.relay.Conn.Close()
		}
	}()
	if !s.gather() {
		return ExitLost
	}
	console, by := s.console()
	d := newDriver(&s.job, console, s.lead.Entered)
	over := make(chan struct{})
	defer close(over)
	actions := ahead(s.lead.Actions, over, func(a arbiter.Action) { by.heed(a) })
	if by != nil {
		go by.serve(d)
	}
	w := s.follow(d)
	w.carrier = by
	defer func() { w.folder.release(code) }()
	if s.job.admits() {
		if err := w.receive(s.lead); err != nil {
			w.warnf("warning: no host can join the job any more: %v", err)
		} else {
			defer func() { w.doors.close(w.head.Summary().Retired) }()
			w.say(head.Log{Level: head.Detail, At: w.elapsed(), Text: "another host joins by: " + w.joinBy})
		}
	}
	if w.page != nil {
		defer w.page.Close()
	}
	go func() {
		for _, a := range s.early {
			w.take(a)
		}
		for {
			select {
			case a := <-actions:
				w.take(a)
			case <-over:
				return
			}
		}
	}()
	w.loop(nil)
	code = w.conclude()
	if delivered := w.dismiss(code); !delivered && code != ExitHandedOver {
		w.warnf("exit code %d", code)
	}
	code = closed(console, code)
	for _, f := range s.files {
		if f != nil && f != os.Stdout && f != os.Stderr {
			_ = f.Close() // write errors were reported before
		}
	}
	return code
}

// ahead passes on actions, in order. It calls see for each of them at once, while the receiver
// may be behind. It stops when over is closed.
func ahead(in <-chan arbiter.Action, over <-chan struct{}, see func(arbiter.Action)) <-chan arbiter.Action {
	out := make(chan arbiter.Action)
	go func() {
		var queue []arbiter.Action
		for {
			var to chan<- arbiter.Action
			var first arbiter.Action
			if len(queue) > 0 {
				to, first = out, queue[0]
			}
			select {
			case a := <-in:
				see(a)
				queue = append(queue, a)
			case to <- first:
				queue = queue[1:]
			case <-over:
				return
			}
		}
	}()
	return out
}

// console returns the console of this head, and the carrier of its output, nil if this head writes
// the output itself.
func (s *successor) console() (*output.Console, *carrier) {
	if s.relayed() {
		by := newCarrier(s.relay.Conn)
		return output.NewCarried(by, s.open), by
	}
	var failed []func(*output.Console)
	w := s.open(func(kind output.Stream, err error) {
		failed = append(failed, func(c *output.Console) { c.Lose(kind, err) })
	})
	console := output.NewConsole(w[output.Stdout], w[output.Stderr])
	for _, lose := range failed {
		lose(console)
	}
	return console, nil
}

// gather waits for the agents. If this agent must not become the head, it returns false.
func (s *successor) gather() bool {
	for {
		for _, a := range s.lead.Arrived() {
			if a.Host == "" {
				s.relay = a
				continue
			}
			s.came[a.Host] = a
		}
		if s.complete() {
			return true
		}
		select {
		case a := <-s.lead.Actions:
			switch a := a.(type) {
			case arbiter.Committed:
				s.unseen += len(s.state.Apply(a.Entry))
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

// relayed reports whether the intrarun that the user started has handed over and is not lost: it
// writes the output.
func (s *successor) relayed() bool {
	_, lost := s.state.Lost[arbiter.Head]
	return slices.Contains(s.state.Resigned, arbiter.Head) && !lost
}

// complete reports whether every host, and the intrarun that the user started, is connected or
// lost.
func (s *successor) complete() bool {
	if s.relayed() && s.relay == nil {
		return false
	}
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

// open opens the files to which this head appends the output of the job, and returns them by
// stream. It calls lose for a file that cannot be opened, and returns standard output or standard
// error in its place.
func (s *successor) open(lose func(output.Stream, error)) (w [output.Crashes]io.Writer) {
	s.files = [...]*os.File{os.Stdout, os.Stderr}
	if name := s.lead.Info.Output; name != "" {
		for kind, end := range [...]string{".out", ".err"} {
			f, err := os.OpenFile(name+end, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				err = fmt.Errorf("open the file for output: %w", err)
				fmt.Fprintln(os.Stderr, "intrarun:", err)
				lose(output.Stream(kind), err)
				continue
			}
			s.files[kind] = f
		}
	}
	for kind, f := range s.files {
		w[kind] = f
	}
	return w
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
	for _, h := range s.state.Hosts {
		if at, _, _ := net.SplitHostPort(h.Beats); at == s.hosts()[s.lead.Self-agentd.FirstAgent].Addr { // enter made Beats with JoinHostPort
			hc.Beside = append(hc.Beside, h.Node)
		}
	}
	hc.Setup.Trace = false
	for rank, r := range d.outputs.ranks {
		if s.relay != nil && rank < len(s.relay.Resync.Written) {
			r.Skip(s.relay.Resync.Written[rank])
		} else {
			r.Lost()
		}
	}
	var acts []head.Action
	d.head, acts = head.Restore(hc, head.Succession{State: s.state, Unseen: s.unseen, Agents: agents, Term: s.lead.Term, Joined: s.lead.Began.Sub(d.began)}, d.now())
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
	before, why := s.lead.Before, ""
	if _, lost := s.state.Lost[arbiter.Head]; !lost && !slices.Contains(s.state.Resigned, arbiter.Head) {
		before = arbiter.Head // a head that was elected after the first one had no time to begin
	}
	from := s.lead.Host(before)
	if id := s.lead.After; id != 0 {
		from, why = s.lead.Host(id), ", which has handed over"
	} else if loss, lost := s.state.Lost[before]; lost {
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
