package launch

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/agentd"
	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/runreport"
)

// hosts is the head's part in the arbiter, which says which hosts are lost.
type hosts struct {
	head   *head
	engine *arbiter.Engine
	agents []*remote // agent i is node i+firstAgent
	self   arbiter.ID
	name   string // of the host of the first head

	suspected map[arbiter.ID]time.Duration // since when; of the head's goroutine
}

// arbitrate has the head and its agents watch each other, and begins to listen
// to the agents.
func (h *head) arbitrate(agents []*remote) (*hosts, error) {
	sock, err := arbiter.Listen(net.JoinHostPort(h.config.HeadAddress, "0"))
	if err != nil {
		return nil, err
	}
	roster := roster(agents)
	w := &hosts{head: h, agents: agents, self: arbiter.Head, name: roster[0].Host, suspected: make(map[arbiter.ID]time.Duration)}
	w.engine, err = arbiter.Start(sock, arbiter.Config{
		Self: arbiter.Head, Roster: roster, Secret: h.secret, Timing: agentd.Timing(3*agentd.LeaseTime/2, h.config.Rarer),
	})
	if err != nil {
		sock.Close()
		return nil, err
	}
	members, note := arbiter.Plan(roster)
	var info *agentd.TakeoverInfo
	if len(members) > 1 {
		info = h.takeoverInfo(agents)
		if info.Output != "" {
			note += ", and its output then continues there in " + info.Output + ".out and .err"
		}
		if h.config.replaces() {
			note += "; this holds until a process is replaced"
		}
		h.record = &record{propose: w.engine.Propose}
	}
	w.listen()
	for i, r := range agents {
		id := arbiter.ID(agentd.FirstAgent + i)
		theirs := slices.Clone(roster) // the head may have another address for each
		theirs[0].Address = net.JoinHostPort(address(r.conn.LocalAddr()), strconv.Itoa(sock.Port()))
		r.conn.SendJSON(agentwire.KindRoster, job.Process{}, agentd.NodeConfig{Self: id, Roster: theirs, Takeover: info, Rarer: h.config.Rarer})
	}
	h.warnf("%s", note)
	go w.follow()
	if h.record != nil {
		go h.confirm(slices.Clone(h.order))
	}
	return w, nil
}

// listen begins to listen to the agents.
func (w *hosts) listen() {
	for _, m := range w.head.order {
		for i, r := range w.agents {
			if m.agent == agent(r) {
				m.node = arbiter.ID(agentd.FirstAgent + i)
			}
		}
	}
	for i, r := range w.agents {
		if r.over {
			continue // it was lost before
		}
		id := arbiter.ID(agentd.FirstAgent + i)
		r.serve(w.head, func() time.Duration { return w.engine.Silent(id) }, func(why string, e *evidence) { w.head.hostLost(r, why, e) })
	}
}

// roster lists the nodes. A machine is known by the address that it connects
// from: whoever connects to the head from the head's own address is beside it.
func roster(agents []*remote) []arbiter.Peer {
	name, err := os.Hostname()
	if err != nil {
		name = "this host"
	}
	all := []arbiter.Peer{{ID: arbiter.Head, Host: name}}
	machines := make(map[string]string)
	for i, r := range agents {
		from := address(r.conn.RemoteAddr())
		if machines[from] == "" {
			machines[from] = r.host.Name
			if from == address(r.conn.LocalAddr()) {
				all[0].Host = r.host.Name
			}
		}
		all = append(all, arbiter.Peer{ID: arbiter.ID(agentd.FirstAgent + i), Host: machines[from],
			Address: net.JoinHostPort(r.listen, strconv.Itoa(r.port))})
	}
	return all
}

// address is that of one end of a connection, without the port.
func address(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// follow does what the arbiter says until it is closed.
func (w *hosts) follow() {
	for {
		a, ok := w.engine.Next()
		if !ok {
			return
		}
		w.take(a)
	}
}

// take does what the arbiter says.
func (w *hosts) take(a arbiter.Action) {
	switch a := a.(type) {
	case arbiter.Suspected:
		w.head.post(func() { w.suspect(a.Evidence) })
	case arbiter.Committed:
		if a.Entry.Kind == arbiter.Lost {
			w.lose(a.Entry)
		} else {
			w.head.post(w.head.kept)
		}
	case arbiter.Deciders:
		w.head.post(func() { w.head.deciders(a) })
	case arbiter.Yield:
		w.head.post(func() { w.giveUp("another head has taken its place") })
	case arbiter.Fence:
		w.head.post(func() {
			if w.head.record != nil {
				a.Why = "most of the hosts that keep its decisions cannot be reached, or have given it up (" + a.Why + ")"
			}
			w.giveUp(a.Why)
		})
	case arbiter.Broken:
		w.head.post(func() { w.giveUp(a.Err.Error()) })
	}
}

// suspect notes that a host may be lost.
func (w *hosts) suspect(e detect.Evidence) {
	w.suspected[e.Host] = w.head.elapsed()
	w.head.eventf("host %s may be lost: %s", w.hostName(e.Host), w.sightings(e.Testimonies))
}

// lose carries out that a host has been declared lost.
func (w *hosts) lose(e arbiter.Entry) {
	i := int(e.Node) - agentd.FirstAgent
	if i < 0 || i >= len(w.agents) || len(e.Testimonies) == 0 {
		return // the head itself, which then is told so
	}
	r := w.agents[i]
	r.declareLost(w.why(r, e))
}

// why tells why the host of r is lost.
func (w *hosts) why(r *remote, e arbiter.Entry) (string, *evidence) {
	ev := &evidence{Evidence: runreport.Evidence{Connection: r.ending()}, hosts: w, node: e.Node}
	last := slices.MinFunc(e.Testimonies, func(a, b detect.Testimony) int { return int(a.Age - b.Age) })
	ev.LastHeardBy, ev.age = w.nodeName(last.Observer), last.Age
	for _, t := range e.Testimonies {
		ev.Observers = append(ev.Observers, runreport.Observation{Observer: w.nodeName(t.Observer), Silent: t.Age.Seconds(), Limit: t.Limit.Seconds()})
	}
	why := fmt.Sprintf("host %s has not been heard from for %.1f s (%s)", r.host.Name, last.Age.Seconds(), w.sightings(e.Testimonies))
	if ev.Connection != "" {
		why += ", after its connection ended: " + ev.Connection
	}
	return why, ev
}

// giveUp ends a job whose head may not act any more.
func (w *hosts) giveUp(why string) {
	if w.head.record != nil {
		w.head.retire(why)
		return
	}
	w.head.ledger.decide(ExitLost, "the head gives up: "+why)
	w.head.settle()
}

func (w *hosts) close() { _ = w.engine.Close() } // nobody has closed it before

// sightings tells who has not heard a host for how long.
func (w *hosts) sightings(all []detect.Testimony) string {
	var s []string
	for _, t := range all {
		s = append(s, fmt.Sprintf("%.2f s by %s", t.Age.Seconds(), w.nodeName(t.Observer)))
	}
	return strings.Join(s, ", ")
}

func (w *hosts) hostName(id arbiter.ID) string {
	if i := int(id) - agentd.FirstAgent; i >= 0 && i < len(w.agents) {
		return w.agents[i].host.Name
	}
	return w.name
}

// nodeName names an observer.
func (w *hosts) nodeName(id arbiter.ID) string {
	switch id {
	case w.self:
		return "the head"
	case arbiter.Head:
		return "the first head"
	}
	return w.hostName(id)
}

// evidence is what the verdict on a host rests on, and what its times are found
// by.
type evidence struct {
	runreport.Evidence
	hosts *hosts
	node  arbiter.ID
	age   time.Duration
}

// reported is what stands of it in the report.
func (e *evidence) reported() *runreport.Evidence {
	if e == nil {
		return nil
	}
	return &e.Evidence
}

// complete fills in when it all happened. It is called in the head's goroutine,
// at the verdict.
func (e *evidence) complete(h *head) {
	e.date(h.elapsed())
}

// date is complete for a verdict at that time since all had joined.
func (e *evidence) date(at time.Duration) {
	e.Declared, e.Suspected, e.LastHeard = at.Seconds(), e.hosts.suspected[e.node].Seconds(), (at - e.age).Seconds()
}
