package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// A host joins the running job in three steps. Its agent connects, describes the host, and gets
// ready like those of the start (welcome). The head decides that the host joins (enter). Then
// the agent becomes a node of the arbiter, and processes may run there (admit). If the head is
// lost in between, the agent ends, and a successor that knows the decision counts the host as
// lost.

// welcome prepares the agent of a host that is to join.
func (w *hosts) welcome(a *agents, c net.Conn, name string) {
	m := agentwire.NewConn(c)
	c.SetDeadline(time.Now().Add(agentd.PrepareTime))
	host := new(job.Host)
	f, err := m.Read()
	if err != nil || f.Kind != agentwire.KindJoin || f.Decode(host) != nil || host.Slots < 1 {
		m.Close() // a connection that the agent does not use
		return
	}
	host.Name = name
	if err := w.ask(func() error { return w.mayEnter(m, host) }); err != nil {
		if errors.Is(err, errOver) {
			w.redirect(m)
		}
		return
	}
	r, err := a.outfit(m, host, a.plan(nil, 0), func(spawn.Event) {})
	if err != nil {
		_ = w.ask(func() error { w.warnf("host %s cannot join the job: %v", host.Name, err); return nil })
		return
	}
	if w.ask(func() error { return w.enter(r) }) != nil {
		m.Close()
	}
}

// errOver means that the head of this process has ended.
var errOver = errors.New("the head of the job is on another host by now, and cannot be asked where hosts join it")

// askJoin asks for the addresses at which hosts join the job. The answer contains them.
const askJoin = "join"

// redirect sends a host that is to join to the present head, if this process is a relay by now.
func (w *hosts) redirect(m *agentwire.Conn) {
	var to string
	if r := w.relaying.Load(); r != nil {
		to = r.ask(askJoin)
	}
	if to == "" {
		refuse(m, errOver)
		return
	}
	m.Send(agentwire.KindMoved, agentwire.Name{}, []byte(to))
	m.Finish()
	m.Close()
}

// receive makes a successor accept hosts that join, at addresses of its own.
func (w *hosts) receive(l *agentd.Lead) error {
	b := l.Start
	a := &agents{secret: l.Secret, watchdog: l.Guard, tree: &spawn.Tree{Fanout: b.Fanout},
		config: &Config{Job: Job{TLS: b.TLS, Verbose: w.job.Verbose}, RemoteShell: b.Shell, Agent: b.Agent}}
	a.plan = func([]job.Process, int) agentd.StartPlan { return l.Plan }
	if l.Plan.Hash != "" {
		a.program = l.Plan.Plan.Path
	}
	secure, err := job.NewSecure(&a.secret, agentwire.HeadName, b.TLS)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	a.serving = stop
	if a.listener, err = listenForAgents(ctx, "", "0"); err == nil {
		a.reached, err = agentwire.Addresses(a.listener.Addr(), "")
	}
	if err != nil {
		a.close(true)
		return err
	}
	w.roster, w.info, w.rarer, w.leader, w.term = l.Roster, l.Info, l.Rarer, l.Self, l.Term
	w.doors, w.joinAt = a, strings.Join(a.reached, " ")
	w.joinBy = joinCommand("FILE", b.TLS, a.reached)
	if a.gate.Store(w); b.Shell != "" {
		w.gate = a
	}
	joins := func(peer string) bool { _, is := agentwire.JoinerHost(peer); return is }
	go secure.Serve(ctx, a.listener, joins, func(c net.Conn, peer string) {
		name, _ := agentwire.JoinerHost(peer)
		w.welcome(a, c, name)
	})
	return nil
}

// ask runs f in the goroutine of the head. It returns the error of f, or errOver if the head
// has ended.
func (w *hosts) ask(f func() error) error {
	answer := make(chan error, 1)
	select {
	case w.posts <- func() { answer <- f() }:
		return <-answer
	case <-w.done:
		return errOver
	}
}

// mayEnter refuses a host that the job cannot use.
func (w *hosts) mayEnter(m *agentwire.Conn, host *job.Host) error {
	err := w.head.MayJoin(host.Name)
	if err != nil {
		go refuse(m, err)
	}
	return err
}

// refuse sends a host the reason why it cannot join.
func refuse(m *agentwire.Conn, why error) {
	m.Send(agentwire.KindRefused, agentwire.Name{}, []byte(why.Error()))
	m.Finish()
	m.Close()
}

// enter passes a host whose agent is ready to the head, which decides that the host joins.
func (w *hosts) enter(r *remote) error {
	if err := w.mayEnter(r.conn, r.host); err != nil {
		return err
	}
	id := agentOf(len(w.remote))
	w.remote = append(w.remote, r)
	w.step(head.HostArrives{Beside: address(r.conn.RemoteAddr()) == address(r.conn.LocalAddr()), Host: decision.Host{Node: id, Name: r.host.Name, Slots: r.host.Slots, Rack: r.host.Rack,
		Listen: r.listen, Beats: net.JoinHostPort(address(r.conn.RemoteAddr()), strconv.Itoa(r.port))}})
	return nil
}

// admit makes a host a part of the job, once that is decided.
func (w *hosts) admit(h decision.Host) {
	r := w.remote[h.Node-agentd.FirstAgent]
	w.agents.add(h.Node, r)
	w.engine.Admit(arbiter.Peer{ID: h.Node, Host: h.Name, Address: h.Beats})
	r.serve(&reporter{w.driver, h.Node}, func() time.Duration { return w.engine.Silent(h.Node) })
	r.conn.SendJSON(agentwire.KindRoster, agentwire.Name{}, w.nodeConfig(r, h.Node, true))
	w.arrived(h.Name, nil)
}

// nodeConfig returns what an agent needs to become a node of the arbiter. The head may have a
// different address for each agent.
func (w *hosts) nodeConfig(r *remote, id arbiter.ID, guest bool) agentd.NodeConfig {
	theirs := slices.Clone(w.roster)
	if w.port != "" {
		theirs[0].Address = net.JoinHostPort(address(r.conn.LocalAddr()), w.port)
	}
	return agentd.NodeConfig{Self: id, Roster: theirs, Takeover: w.info, Rarer: w.rarer, Guest: guest, Leader: w.leader, Term: w.term}
}

// joinCommand returns the command that makes another host join the job, "" if none can.
func (c *Config) joinCommand(secret string, addresses []string) string {
	if secret == "" || !c.admits() {
		return ""
	}
	return joinCommand(secret, c.TLS, addresses)
}

// joinCommand returns the command with that file and these addresses.
func joinCommand(secret string, encrypted bool, addresses []string) string {
	tls := ""
	if encrypted {
		tls = " -tls"
	}
	return fmt.Sprintf("%s=%s intrarun join%s %s", spawn.EnvSecret, secret, tls, strings.Join(addresses, " "))
}

// secret returns the secret of the job, and a file from which hosts that join derive it, "" if no
// host may join. If the user names no file, secret makes one in memory, which ends with this
// process.
func (c *Config) secret() (s job.Secret, file string, err error) {
	file = os.Getenv(spawn.EnvSecret)
	switch {
	case c.Indexed != nil && c.Indexed.Spare(): // it comes from a launcher
		return c.Indexed.Secret, "", nil
	case c.Indexed != nil:
		return c.Indexed.Secret, file, nil
	case file != "":
		if s, err = spawn.ReadSecret(file); err != nil {
			err = fmt.Errorf("%s: %w", spawn.EnvSecret, err)
		}
		return s, file, err
	case !c.admits():
		return job.NewSecret(), "", nil
	}
	fd, err := unix.MemfdCreate("intra secret", unix.MFD_CLOEXEC)
	if err == nil {
		random := job.NewSecret()
		_, err = unix.Write(fd, random[:])
		file = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
	}
	if err == nil {
		s, err = spawn.ReadSecret(file)
	}
	if err != nil {
		err = fmt.Errorf("keep the secret of the job for hosts that join it: %w", err)
	}
	return s, file, err
}

// Join runs the agent of this host, which joins a running job. It calls joined once the host has
// joined.
func Join(ctx context.Context, b *spawn.Bootstrap, command []string, leave <-chan os.Signal, joined func()) error {
	return agentd.ServeJob(ctx, b, agentd.Config{Watchdog: command, Leave: leave, Joined: joined, Takeover: takeOver})
}
