package launch

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// hostPlace is what a template of a remote command has for the name of a host.
const hostPlace = "{host}"

// thisHost is a host that needs no remote command.
const thisHost = "localhost"

// agentsTime bounds how long the head waits for its agents to connect, and
// they try.
const agentsTime = 30 * time.Second

// agents starts one agent per host and connects to them.
type agents struct {
	config  *Config
	console *console
	secret  job.Secret
	hosts   []job.Host
	order   func(host int) order
	program string // to be sent to hosts that lack it, "" if it is not

	listener net.Listener
	commands []*exec.Cmd
	inputs   []io.Closer     // standard input of each
	ended    []chan struct{} // closed when the command of that host has ended
	results  chan agentResult
}

type agentResult struct {
	host  int
	agent *remote
	err   error
}

// connect starts all agents and returns them, in the order of the hosts, once
// all are ready.
func (a *agents) connect(ctx context.Context) (all []*remote, err error) {
	patience, port := agentsTime, "0"
	if x := a.config.Indexed; x != nil {
		patience = indexedTime
		_, port, _ = net.SplitHostPort(x.Head)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	secure, err := job.NewSecure(&a.secret, headName, a.config.TLS)
	if err != nil {
		return nil, err
	}
	lc := net.ListenConfig{KeepAliveConfig: keepAlive, Control: bound}
	if a.listener, err = lc.Listen(ctx, "tcp", net.JoinHostPort(a.config.HeadAddress, port)); err != nil {
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	addresses, err := a.addresses()
	if err != nil {
		return nil, err
	}
	index := make(map[string]int)
	for i, h := range a.hosts {
		index[agentName(h.Name)] = i
	}
	a.results = make(chan agentResult)
	tell := func(r agentResult) {
		select {
		case a.results <- r:
		case <-ctx.Done():
			if r.agent != nil {
				r.agent.mux.close()
			}
		}
	}
	go secure.Serve(ctx, a.listener, func(peer string) bool { _, ok := index[peer]; return ok }, func(c net.Conn, peer string) {
		i := index[peer]
		if r, err := a.prepare(i, c); !errors.Is(err, errUnused) {
			tell(agentResult{i, r, err})
		}
	})
	for i, h := range a.hosts {
		if x := a.config.Indexed; x != nil && h.Name != x.Hosts[0].Name {
			continue // it comes by itself
		}
		if err := a.start(i, addresses, tell); err != nil {
			return nil, err
		}
	}
	all = make([]*remote, len(a.hosts))
	defer func() {
		if err != nil {
			for _, r := range all {
				if r != nil {
					r.mux.close()
				}
			}
		}
	}()
	for left := len(all); left > 0; {
		select {
		case r := <-a.results:
			if r.err != nil {
				return nil, fmt.Errorf("host %s: %w", a.hosts[r.host].Name, r.err)
			}
			if all[r.host] != nil { // only a copy of ours knows the secret
				r.agent.mux.close()
				continue
			}
			all[r.host] = r.agent
			left--
		case s := <-a.config.Signals:
			return nil, interrupted{s, "waiting for the agents"}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, interrupted{terminate, "waiting for the agents"}
			}
			var missing []string
			for i, r := range all {
				if r == nil {
					missing = append(missing, a.hosts[i].Name)
				}
			}
			return nil, fmt.Errorf("no agent of %s has connected within %v: is the head reachable from there at one of %s (-head ADDRESS)?",
				strings.Join(missing, ", "), patience, strings.Join(addresses, ", "))
		}
	}
	return all, nil
}

// addresses are those under which the head can be reached, IPv4 first.
func (a *agents) addresses() ([]string, error) {
	_, port, err := net.SplitHostPort(a.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	if a.config.HeadAddress != "" {
		return []string{net.JoinHostPort(a.config.HeadAddress, port)}, nil
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("find the addresses of this host: %w", err)
	}
	var v4, v6 []string
	for _, i := range interfaces {
		n, ok := i.(*net.IPNet)
		switch {
		case !ok || !n.IP.IsGlobalUnicast():
		case n.IP.To4() != nil:
			v4 = append(v4, net.JoinHostPort(n.IP.String(), port))
		default:
			v6 = append(v6, net.JoinHostPort(n.IP.String(), port))
		}
	}
	if all := append(v4, v6...); len(all) > 0 {
		return all, nil
	}
	return []string{net.JoinHostPort("127.0.0.1", port)}, nil // a host without a network
}

// start runs the command that starts the agent of host i.
func (a *agents) start(i int, addresses []string, tell func(agentResult)) error {
	h := a.hosts[i]
	args, err := a.command(h.Name)
	if err != nil {
		return err
	}
	in, err := json.Marshal(summons{Version: job.Version, Secret: a.secret, Name: h.Name, Addresses: addresses, TLS: a.config.TLS, Patience: agentsTime})
	if err != nil {
		return fmt.Errorf("start an agent: %w", err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start an agent: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's signals are the head's business
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start an agent: %w", err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return fmt.Errorf("host %s: start its agent: %w", h.Name, err)
	}
	// The pipe stays open as long as this process lives: its end tells an agent
	// that is still trying to connect that nobody waits for it.
	if _, err := pipe.Write(in); err != nil {
		a.console.notef("intrarun: host %s: its agent does not read its orders: %v", h.Name, err)
	}
	said := make(chan string, 1)
	go func() { said <- a.relay(h.Name, r) }()
	ended := make(chan struct{})
	a.commands, a.inputs, a.ended = append(a.commands, cmd), append(a.inputs, pipe), append(a.ended, ended)
	go func() {
		_ = cmd.Wait()
		close(ended)
		last := ""
		select {
		case last = <-said:
		case <-time.After(settleTime): // what it has started may hold the pipe
		}
		tell(agentResult{i, nil, fmt.Errorf("%s ended with %v before its agent had connected%s", args[0], cmd.ProcessState, last)})
	}()
	return nil
}

// command is what starts an agent on a host: directly on this one, through the
// template on others.
func (a *agents) command(host string) ([]string, error) {
	self, err := filepath.Abs(a.config.Agent[0])
	if err != nil {
		return nil, fmt.Errorf("find the executable of the agents: %w", err)
	}
	agent := append([]string{self}, a.config.Agent[1:]...)
	if host == thisHost || a.config.Indexed != nil {
		return agent, nil
	}
	words, err := splitQuoted(a.config.RemoteShell)
	if err != nil {
		return nil, fmt.Errorf("-rsh: %w", err)
	}
	if len(words) == 0 || !strings.Contains(a.config.RemoteShell, hostPlace) {
		return nil, fmt.Errorf("-rsh %q: want a command with %s in it, like ssh %[2]s", a.config.RemoteShell, hostPlace)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], hostPlace, host)
	}
	if filepath.Base(words[0]) == "ssh" { // the remote shell takes the words apart
		agent[0] = "'" + strings.ReplaceAll(agent[0], "'", `'\''`) + "'"
	}
	return append(words, agent...), nil
}

// relay shows what the command of a host says and returns it for an error.
func (a *agents) relay(host string, r io.ReadCloser) string {
	defer r.Close()
	var text strings.Builder
	for s := bufio.NewScanner(r); s.Scan(); {
		if a.config.Verbose {
			a.console.notef("intrarun: %s: %s", host, s.Text())
		}
		if text.Len() < 4096 {
			text.WriteString(": " + s.Text())
		}
	}
	return text.String()
}

// errUnused: the agent has closed the connection before it has said anything. It
// tries several addresses at once and keeps the first that works; if it has died,
// its command tells.
var errUnused = errors.New("a connection that its agent does not use")

// prepare gives an agent its order, and the program if it lacks it.
func (a *agents) prepare(i int, c net.Conn) (_ *remote, err error) {
	m := newMux(c)
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	c.SetDeadline(time.Now().Add(prepareTime))
	m.sendJSON(framePlan, job.Process{}, a.order(i))
	for heard := false; ; {
		f, err := m.read()
		if err != nil && !heard {
			return nil, errUnused
		}
		if err != nil {
			return nil, fmt.Errorf("wait for its agent: %w", err)
		}
		heard = true
		var r readiness
		if f.kind != frameReady {
			return nil, errFrame
		}
		if err := f.decode(&r); err != nil {
			return nil, err
		}
		switch {
		case r.Error != "":
			return nil, errors.New(r.Error)
		case !r.Lacks:
			c.SetDeadline(time.Time{})
			agent := newRemote(&a.hosts[i], m)
			agent.listen, agent.port = cmp.Or(a.hosts[i].Addr, r.Address), r.Port
			agent.door = net.JoinHostPort(agent.listen, strconv.Itoa(r.Door))
			return agent, nil
		}
		if err := a.sendProgram(m); err != nil {
			return nil, err
		}
	}
}

// sendProgram sends the executable piece by piece.
func (a *agents) sendProgram(m *mux) error {
	f, err := os.Open(a.program)
	if err != nil {
		return fmt.Errorf("send the program: %w", err)
	}
	defer f.Close()
	for {
		buf := make([]byte, maxWindow)
		n, err := f.Read(buf)
		if n > 0 {
			m.send(frameProgram, job.Process{}, buf[:n])
		}
		if err == io.EOF {
			m.send(frameProgram, job.Process{}, nil)
			return nil
		}
		if err != nil {
			return fmt.Errorf("send the program: %w", err)
		}
	}
}

// close waits until the commands have ended that started the agents, and ends
// those that do not, unless the job goes on without this head.
func (a *agents) close(goesOn bool) {
	if a.listener != nil {
		a.listener.Close()
	}
	for _, in := range a.inputs {
		in.Close()
	}
	if goesOn {
		return
	}
	deadline := time.Now().Add(termGrace)
	var all sync.WaitGroup
	for i, cmd := range a.commands {
		all.Go(func() {
			select {
			case <-a.ended[i]:
			case <-time.After(time.Until(deadline)):
				killGroup(cmd.Process.Pid, syscall.SIGKILL)
				<-a.ended[i]
			}
		})
	}
	all.Wait()
}
