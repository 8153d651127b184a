package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/job"
)

// settleTime is how long the head waits after an agent's failure for related failures. These
// may be causes or consequences of the first.
const settleTime = 300 * time.Millisecond

// agentsTime bounds how long the head waits for its agents to connect, and how
// long they try.
const agentsTime = 30 * time.Second

// agents starts one agent on each host and connects to them.
type agents struct {
	config   *Config
	console  *output.Console
	watchdog *watchdog.Watchdog
	secret   job.Secret
	hosts    []job.Host
	plan     func(processes []job.Process, spares int) agentd.StartPlan // returns the plan of a host's agent
	program  string                                                     // path of the program, if it is sent to hosts that lack it; else ""

	listener net.Listener
	reached  []string              // addresses of the listener
	serving  context.CancelFunc    // stops the listener
	gate     atomic.Pointer[hosts] // accepts hosts that join; nil: no host may join yet
	tree     *spawn.Tree
	starter  *spawn.Starter   // nil before the agents are started, and under a successor
	later    []*spawn.Starter // for hosts that join the running job; added by the goroutine of the head
	results  chan agentResult
}

// agentResult is an agent that is ready, or a failure: an event of its command, or an error.
type agentResult struct {
	host  int
	agent *remote
	event *spawn.Event
	err   error
}

// connect starts all agents. When all are ready, it returns them in the order of the hosts.
func (a *agents) connect(ctx context.Context) (_ []*remote, err error) {
	patience, port := agentsTime, "0"
	if x := a.config.Indexed; x != nil {
		patience = spawn.IndexedPatience
		a.listener = x.Listener
		_, port, _ = net.SplitHostPort(x.Heads[0])
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	secure, err := job.NewSecure(&a.secret, agentwire.HeadName, a.config.TLS)
	if err != nil {
		return nil, err
	}
	if a.listener == nil {
		if a.listener, err = listenForAgents(ctx, a.config.HeadAddress, port); err != nil {
			return nil, err
		}
	}
	addresses, err := agentwire.Addresses(a.listener.Addr(), a.config.HeadAddress)
	if err != nil {
		return nil, err
	}
	a.reached = addresses
	if err := a.reachItself(addresses); err != nil {
		return nil, err
	}
	index := make(map[string]int)
	for i, h := range a.hosts {
		index[agentwire.AgentName(h.Name)] = i
	}
	a.tree, a.results = a.config.tree(), make(chan agentResult)
	tell := func(r agentResult) {
		select {
		case a.results <- r:
		case <-ctx.Done():
			if r.agent != nil {
				r.agent.conn.Close()
			}
		}
	}
	expected := func(peer string) bool {
		_, joins := agentwire.JoinerHost(peer)
		_, first := index[peer]
		return first || joins && a.gate.Load() != nil
	}
	serving, stop := context.WithCancel(context.Background())
	a.serving = stop
	go secure.Serve(serving, a.listener, expected, func(c net.Conn, peer string) {
		if name, joins := agentwire.JoinerHost(peer); joins {
			a.gate.Load().welcome(a, c, name)
			return
		}
		i := index[peer]
		if r, err := a.prepare(i, c, tell); !errors.Is(err, errUnused) {
			tell(agentResult{host: i, agent: r, err: err})
		}
	})
	roots, err := a.bootstrap(a.tree.Hosts)
	if err != nil {
		return nil, err
	}
	if a.config.Verbose {
		for line := range strings.Lines(a.tree.String()) {
			a.console.Notef("intrarun: %s", strings.TrimSuffix(line, "\n"))
		}
	}
	a.starter = spawn.Start(roots, a.watchdog, func(n spawn.Event) { a.heed(n, tell) })
	all := make([]*remote, len(a.hosts))
	defer func() {
		if err != nil {
			for _, r := range all {
				if r != nil {
					r.conn.Close()
				}
			}
		}
	}()
	var failed *agentResult
	var soon <-chan time.Time // fires when the failures related to failed are known
	for left := len(all); left > 0 || failed != nil; {
		select {
		case r := <-a.results:
			if r.agent == nil {
				if failed == nil {
					failed, soon = &r, time.After(settleTime)
				} else if a.explains(&r, failed) {
					failed = &r
				}
				continue
			}
			if all[r.host] != nil { // a copy of our own agent: no other program knows the secret
				r.agent.conn.Close()
				continue
			}
			all[r.host] = r.agent
			r.agent.wait(func(n spawn.Event) { a.heed(n, tell) }, func(err error) {
				tell(agentResult{host: r.host, err: fmt.Errorf("lost the connection to its agent: %w", err)})
			})
			left--
		case <-soon:
			return nil, a.blame(failed, all)
		case s := <-a.config.Signals:
			return nil, spawn.Interrupted{Signal: s, While: "waiting for the agents"}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, spawn.Interrupted{Signal: terminate, While: "waiting for the agents"}
			}
			var missing []string
			for i, r := range all {
				if r == nil {
					missing = append(missing, a.hosts[i].Name+a.by(i))
				}
			}
			return nil, fmt.Errorf("no agent of %s has connected within %v: is the head reachable from there at one of %s (-head ADDRESS)?",
				strings.Join(missing, ", "), patience, strings.Join(addresses, ", "))
		}
	}
	a.starter.Settle()
	return all, nil
}

// reachItself checks at once whether the agent of this host can connect to one of the
// addresses. Without this check, that agent would try as long as agents on other hosts, which
// may still be booting.
func (a *agents) reachItself(addresses []string) error {
	if named(a.hosts, spawn.ThisHost) < 0 && a.config.Indexed == nil {
		return nil
	}
	var all []error
	for _, at := range addresses {
		err := listen.Reachable(at)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return fmt.Errorf("the agent of this host cannot connect to it: %w (%w)", listen.ErrNoLoopback, errors.Join(all...))
}

// bootstrap returns the bootstrap with which the head starts the tree of agents. Its fields about
// the agent's own host are empty, since the head is the root of the tree.
func (a *agents) bootstrap(hosts []string) (*spawn.Bootstrap, error) {
	self, err := filepath.Abs(a.config.Agent[0])
	if err != nil {
		return nil, fmt.Errorf("find the executable of the agents: %w", err)
	}
	s := &spawn.Bootstrap{Version: job.Version, Secret: a.secret, Addresses: a.reached, TLS: a.config.TLS, Patience: agentsTime,
		Below: hosts, Fanout: a.tree.Fanout, Shell: a.config.RemoteShell,
		Agent: append([]string{self}, a.config.Agent[1:]...), Verbose: a.config.Verbose}
	if a.config.Indexed != nil {
		s.Shell = "" // the only agent to start is that of this host
	}
	for _, h := range hosts {
		if _, err := s.Command(h); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// heed handles an event of an agent that is being started.
func (a *agents) heed(n spawn.Event, tell func(agentResult)) {
	switch i := named(a.hosts, n.Host); {
	case i < 0: // a copy of our own agent has sent it: no other process knows the secret
	case n.Line != "":
		a.console.Notef("intrarun: %s: %s", n.Host, n.Line)
	default:
		tell(agentResult{host: i, event: &n})
	}
}

// explains reports whether the failure r may be the cause of s. If the agent of a host fails, the
// agents below it fail too. The end of a command gives a better reason than the end of a
// connection.
func (a *agents) explains(r, s *agentResult) bool {
	depth := make(map[string]int)
	a.tree.Walk(func(starter string, hosts []string) {
		for _, h := range hosts {
			depth[h] = depth[starter] + 1
		}
	})
	return depth[a.hosts[r.host].Name] < depth[a.hosts[s.host].Name] || r.host == s.host && r.event != nil
}

// blame describes a failure. all are the agents that had connected before it.
func (a *agents) blame(r *agentResult, all []*remote) error {
	name := a.hosts[r.host].Name + a.by(r.host)
	switch n := r.event; {
	case n == nil:
		return fmt.Errorf("host %s: %w", name, r.err)
	case n.Error != "":
		return fmt.Errorf("host %s: %s", name, n.Error)
	case all[r.host] == nil:
		return fmt.Errorf("host %s: %s before its agent had connected%s", name, n.End, n.Said)
	default:
		return fmt.Errorf("host %s: %s while other agents were starting%s", name, n.End, n.Said)
	}
}

// by names the host that had to start the agent of host i. It returns "" if that was the head.
func (a *agents) by(i int) (text string) {
	a.tree.Walk(func(starter string, hosts []string) {
		if starter != "" && slices.Contains(hosts, a.hosts[i].Name) {
			text = fmt.Sprintf(" (started from %s)", starter)
		}
	})
	return text
}

// errUnused means that the agent has closed the connection before it sent anything. An agent
// tries several addresses at once, and keeps the first connection that works. If the agent has
// died instead, the end of its command is reported.
var errUnused = errors.New("a connection that its agent does not use")

// prepare prepares the agent of host i.
func (a *agents) prepare(i int, c net.Conn, tell func(agentResult)) (*remote, error) {
	m := agentwire.NewConn(c)
	c.SetDeadline(time.Now().Add(agentd.PrepareTime))
	return a.outfit(m, &a.hosts[i], a.plan(a.config.Placement.On(i), a.config.Placement.SparesOn(i)), func(n spawn.Event) { a.heed(n, tell) })
}

// outfit sends the agent of a host its plan, and the program if the agent lacks it. If it
// fails it closes the connection.
func (a *agents) outfit(m *agentwire.Conn, host *job.Host, plan agentd.StartPlan, heed func(spawn.Event)) (_ *remote, err error) {
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	m.SendJSON(agentwire.KindPlan, agentwire.Name{}, plan)
	for answered := false; ; {
		f, err := m.Read()
		if err != nil && !answered {
			return nil, errUnused
		}
		if err != nil {
			return nil, fmt.Errorf("wait for its agent: %w", err)
		}
		answered = true
		if f.Kind == agentwire.KindSpawn {
			var n spawn.Event
			if err := f.Decode(&n); err != nil {
				return nil, err
			}
			heed(n)
			continue
		}
		var r agentd.Readiness
		if f.Kind != agentwire.KindReady {
			return nil, agentwire.ErrFrame
		}
		if err := f.Decode(&r); err != nil {
			return nil, err
		}
		switch {
		case r.Error != "":
			return nil, errors.New(r.Error)
		case !r.Lacks:
			m.SetDeadline(time.Time{})
			agent := newRemote(host, m)
			agent.listen, agent.port = cmp.Or(host.Addr, r.Address), r.Port
			agent.takeover = net.JoinHostPort(agent.listen, strconv.Itoa(r.Takeover))
			return agent, nil
		}
		if err := a.sendProgram(m); err != nil {
			return nil, err
		}
	}
}

// sendProgram sends the executable piece by piece.
func (a *agents) sendProgram(m *agentwire.Conn) error {
	f, err := os.Open(a.program)
	if err != nil {
		return fmt.Errorf("send the program: %w", err)
	}
	defer f.Close()
	for {
		buf := make([]byte, agentwire.MaxWindow)
		n, err := f.Read(buf)
		if n > 0 {
			m.Send(agentwire.KindProgram, agentwire.Name{}, buf[:n])
		}
		if err == io.EOF {
			m.Send(agentwire.KindProgram, agentwire.Name{}, nil)
			return nil
		}
		if err != nil {
			return fmt.Errorf("send the program: %w", err)
		}
	}
}

// close ends the commands that start agents, unless the job continues under another head.
func (a *agents) close(goesOn bool) {
	if a.listener != nil {
		a.listener.Close()
	}
	if a.serving != nil {
		a.serving()
	}
	all := a.later
	if a.starter != nil {
		all = append([]*spawn.Starter{a.starter}, a.later...)
	}
	for _, s := range all {
		if !goesOn {
			s.Finish()
		}
		s.Close()
	}
}

// named returns the index of the host with that name, -1 if there is none.
func named(hosts []job.Host, name string) int {
	return slices.IndexFunc(hosts, func(h job.Host) bool { return h.Name == name })
}
