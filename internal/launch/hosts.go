package launch

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// hosts is the head's part of the arbiter, which replicates its decisions and
// decides which hosts are lost.
type hosts struct {
	*driver
	engine engine
	remote []*remote // the agent of node i+agentd.FirstAgent; hosts that join add theirs

	awaited map[string]awaited // by host

	// These fields are for the relay, once this head has handed over.
	heads    *agentd.Pursuit
	over     chan struct{}         // closed when the relay ends
	fenced   chan string           // receives the reason why this process has been removed from the nodes
	written  [][2]output.Written   // by rank: up to where this head has written each stream
	relaying atomic.Pointer[relay] // this process as the relay; nil: it is none
	carrier  *carrier              // the relay, if this head is a successor; nil: none

	// These fields are for agents of hosts that join.
	roster []arbiter.Peer
	port   string     // of the first head's socket for beats; "" if this head is a successor
	leader arbiter.ID // this head, if it is a successor
	term   uint64     // its term
	doors  *agents    // accepts hosts that join under a successor; nil: no host can join
	info   *agentd.TakeoverInfo
	rarer  int
}

// engine is the head's node of the arbiter, an arbiter.Engine.
type engine interface {
	Propose(decision.Entry) error
	Silent(detect.ID) time.Duration
	Resign()
	Next() (arbiter.Action, bool)
	Admit(arbiter.Peer)
	Close() error
}

// agentOf returns the node of the agent of host i.
func agentOf(i int) detect.ID { return detect.ID(agentd.FirstAgent + i) }

// nodes returns the hosts as nodes of the head.
func (j *Job) nodes(agents []*remote) (all []head.Node) {
	for i, r := range agents {
		all = append(all, head.Node{ID: agentOf(i), Name: r.host.Name, Rack: r.host.Rack, Slots: r.host.Slots, Listen: j.listenAt(r.listen)})
	}
	return all
}

// arbitrate creates the head, and starts the arbiter between it and its agents.
func (d *driver) arbitrate(c *Config, secret job.Secret, agents []*remote) (*hosts, error) {
	sock, err := arbiter.Listen(net.JoinHostPort(c.HeadAddress, "0"))
	if err != nil {
		return nil, err
	}
	roster := roster(agents)
	members, note := arbiter.Plan(roster)
	leased := new(atomic.Int64)
	engine, err := arbiter.Start(sock, arbiter.Config{
		Self: arbiter.Head, Roster: roster, Secret: secret, Timing: agentd.Timing(3*agentd.LeaseTime/2, c.Rarer),
		Renewed: func(until time.Duration) { leased.Store(int64(until)) },
	})
	if err != nil {
		sock.Close()
		return nil, err
	}
	w := d.attach(engine, agents)
	w.roster, w.port, w.rarer = roster, strconv.Itoa(sock.Port()), c.Rarer
	hc := c.head(c.nodes(agents))
	hc.Self, hc.FirstHost, hc.Doubtful, hc.Members = arbiter.Head, roster[0].Host, w.doubtful, members
	hc.Drain, hc.Grace = c.Drain, c.Grace
	for _, p := range roster[1:] {
		if p.Host == roster[0].Host && hc.Home == 0 {
			hc.Home = p.ID
		}
	}
	if hc.Replicated = len(members) > 1; hc.Replicated {
		w.info = c.takeoverInfo(agents)
		w.heads = &agentd.Pursuit{Name: agentwire.RelayName, Secret: secret, TLS: c.TLS, Takeover: w.info, Roster: roster,
			Leased: func() time.Duration { return time.Duration(leased.Load()) }, Over: w.over}
		w.heads.Start()
		if w.info.Output != "" {
			note += ", and its output then continues there in " + w.info.Output + ".out and .err"
		}
		w.replicate()
		d.pageAmong(w.info, 0)
	}
	d.head = head.New(hc)
	w.listen()
	for i, r := range agents {
		r.conn.SendJSON(agentwire.KindRoster, agentwire.Name{}, w.nodeConfig(r, agentOf(i), false))
	}
	d.warnf("%s", note)
	go w.follow()
	return w, nil
}

// attach gives the driver its agents and its arbiter.
func (d *driver) attach(e engine, agents []*remote) *hosts {
	for i, r := range agents {
		d.agents.add(agentOf(i), r)
	}
	w := &hosts{driver: d, engine: e, remote: agents, awaited: make(map[string]awaited), over: make(chan struct{}), fenced: make(chan string, 1)}
	d.admit = w.admit
	return w
}

// replicate makes the arbiter replicate the head's decisions.
func (w *hosts) replicate() {
	w.resign = w.engine.Resign
	w.log = &proposals{
		propose: w.engine.Propose,
		again:   w.after,
		failed: func(err error) {
			w.next = append(w.next, head.Retired{Why: "its decisions cannot be replicated: " + err.Error()})
		},
	}
}

// listen starts to handle the agents' frames.
func (w *hosts) listen() {
	for i, r := range w.remote {
		if r.over {
			continue // its host was lost before
		}
		id := agentOf(i)
		r.serve(&reporter{w.driver, id}, func() time.Duration { return w.engine.Silent(id) })
	}
}

// doubtful reports whether a host may soon be declared lost.
func (w *hosts) doubtful(id detect.ID) bool { return w.agents.at(id).Doubtful() }

// roster lists the nodes. Agents that connect from the same address are on one machine. An
// agent that connects from the head's own address is on the machine of the head.
func roster(agents []*remote) []arbiter.Peer {
	name := hostname("this host")
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
		all = append(all, arbiter.Peer{ID: agentOf(i), Host: machines[from], Address: net.JoinHostPort(r.listen, strconv.Itoa(r.port))})
	}
	return all
}

// hostname returns the name of this machine, or otherwise if it has none.
func hostname(otherwise string) string {
	name, err := os.Hostname()
	if err != nil {
		return otherwise
	}
	return name
}

// address returns the address of one end of a connection, without the port.
func address(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// follow passes on the arbiter's actions until the arbiter is closed.
func (w *hosts) follow() {
	for {
		a, ok := w.engine.Next()
		if !ok {
			return
		}
		w.take(a)
	}
}

// take passes an action of the arbiter to the head.
func (w *hosts) take(a arbiter.Action) {
	switch a := a.(type) {
	case arbiter.Suspected:
		w.tell(head.Suspected{Node: a.Evidence.Host, Testimonies: a.Evidence.Testimonies})
	case arbiter.Committed:
		if r, ok := w.agents.at(a.Entry.Node).(*remote); ok && a.Entry.Kind == decision.Lost {
			r.declareLost()
		}
		w.tell(head.Committed{Entry: a.Entry})
	case arbiter.Deciders:
		w.post(func() { w.deciders(a) })
	case arbiter.Leader:
		if w.heads != nil {
			w.heads.Elect(a.ID, a.Term)
		}
	case arbiter.Yield:
		w.tell(head.Retired{Why: "another head has taken its place"})
	case arbiter.Fence:
		w.fenced <- a.Why // happens once, so this never blocks
		if w.log != nil {
			a.Why = "most of the hosts that keep its decisions cannot be reached, or have given it up (" + a.Why + ")"
		}
		w.tell(head.Retired{Why: a.Why})
	case arbiter.Broken:
		w.tell(head.Retired{Why: a.Err.Error()})
	}
}

// deciders reports which hosts replicate the decisions, after one of them was lost. If the job
// would now end with this head, that is a warning.
func (w *hosts) deciders(d arbiter.Deciders) {
	level := head.Detail
	if len(d.Members) == 1 {
		level = head.Warning
	}
	w.say(head.Log{Level: level, At: w.elapsed(), Text: d.Text})
}

func (w *hosts) close() { _ = w.engine.Close() } // it was not closed before, so this cannot fail

// dismiss reports the end of the job, with this exit code, first to the relay and then to the
// agents. It returns whether the relay has received the report. If the job continues under another
// head, dismiss only closes the connections.
func (w *hosts) dismiss(code int) (delivered bool) {
	retired := w.head.Summary().Retired
	if code == ExitHandedOver { // so that the next head does not repeat that output
		for rank, r := range w.outputs.ranks {
			at := r.Stop()
			w.written = append(w.written, at)
			for _, by := range w.outputs.writers(rank) {
				for _, written := range at {
					w.agents.at(by.Node).Written(name(by), written)
				}
			}
		}
	}
	switch {
	case w.carrier == nil:
	case retired:
		w.carrier.close()
	default:
		w.console.Flush()
		delivered = w.carrier.bye(code)
	}
	for _, r := range w.remote {
		if retired {
			r.leave()
		} else {
			r.end(code)
		}
	}
	return delivered
}
