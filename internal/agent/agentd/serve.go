package agentd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/job"
)

// Config configures an agent.
type Config struct {
	Watchdog []string // the command that starts its watchdog
	// Leave receives a signal when this host is to leave the job (SIGTERM). After the first
	// one its processes are moved; at the second one the agent ends at once. nil: the host
	// never leaves.
	Leave <-chan os.Signal
	// Joined is called when this host has joined a running job. nil: it is not called.
	Joined   func()
	Takeover func(*Lead) int // acts as the head if this agent is elected, and returns the exit code of the job
}

// Serve runs an agent. It reads a Bootstrap from in, connects to the head, and executes the
// head's orders until the job is over. Otherwise it returns the error that has ended the
// agent; its processes are dead by then.
func Serve(ctx context.Context, in io.Reader, c Config) error {
	var s spawn.Bootstrap
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("read from standard input which job this agent belongs to: %w", err)
	}
	if s.Version != job.Version {
		return fmt.Errorf("protocol version %d here, %d at the head: use the same intrarun on all hosts", job.Version, s.Version)
	}
	// The end of the input means that this agent is no longer needed.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	err := ServeJob(ctx, &s, c)
	if end, ok := errors.AsType[*JobError](err); ok && !end.Head {
		return nil // the head reports the error of the job
	}
	return err
}

// moved is the answer of an intrarun that was the head: a host that is to join finds the present head
// at these addresses.
type moved struct{ addresses []string }

func (m *moved) Error() string { return fmt.Sprintf("the head is at %v by now", m.addresses) }

// ServeJob runs an agent with the given bootstrap. ctx bounds the time until it has connected.
func ServeJob(ctx context.Context, s *spawn.Bootstrap, c Config) error {
	for {
		err := serveJob(ctx, s, c)
		to, ok := errors.AsType[*moved](err)
		if !ok {
			return err
		}
		s.Addresses = to.addresses
	}
}

// serveJob runs an agent that tries the addresses in s only.
func serveJob(ctx context.Context, s *spawn.Bootstrap, c Config) error {
	w, err := watchdog.Start(c.Watchdog, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	conn, err := connect(ctx, s)
	if err != nil {
		return fmt.Errorf("connect to the head: %w", err)
	}
	m := agentwire.NewConn(conn)
	defer m.Close()
	// The agent starts other agents only after it has connected to the head: if it cannot, it
	// must not start any.
	b := spawn.Start(s, w, func(n spawn.Event) { m.SendJSON(agentwire.KindSpawn, agentwire.Name{}, n) })
	defer b.Close()
	n, err := newNode(s, w, c.Takeover)
	if err != nil {
		return err
	}
	defer n.close()
	conn.SetDeadline(time.Now().Add(PrepareTime))
	if s.Join != nil {
		m.SendJSON(agentwire.KindJoin, agentwire.Name{}, s.Join)
	}
	a, err := prepare(m, n)
	if err != nil {
		return err
	}
	conn.SetDeadline(time.Time{})
	a.starter, a.leave, a.joined = b, c.Leave, c.Joined
	defer a.close()
	return a.run()
}

// PrepareTime bounds the preparation of an agent.
const PrepareTime = 2 * time.Minute

// prepare receives the head's plan, and the program if this host lacks it.
func prepare(m *agentwire.Conn, n *node) (*server, error) {
	f, err := m.Read()
	if err == nil && f.Kind == agentwire.KindRefused {
		return nil, errors.New(string(f.Body))
	}
	if err == nil && f.Kind == agentwire.KindMoved && n.bootstrap.Join != nil {
		return nil, &moved{strings.Fields(string(f.Body))}
	}
	if err != nil || f.Kind != agentwire.KindPlan {
		return nil, fmt.Errorf("wait for the head's plan: %w", errors.Join(err, agentwire.ErrFrame))
	}
	var o StartPlan
	if err := f.Decode(&o); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(m.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	ready := Readiness{Address: host, Port: n.sock.Port(), Takeover: n.listener.port()}
	if err := supervise.CheckDescriptors(o.Processes, o.Link, 0); err != nil {
		ready.Error = err.Error()
	} else if o.Hash != "" && spawn.Hash(o.Plan.Path) != o.Hash {
		ready.Lacks = true
		m.SendJSON(agentwire.KindReady, agentwire.Name{}, ready)
		ready.Lacks = false
		if o.Plan.Path, err = receive(m, o, n.watchdog); err != nil {
			ready.Error = err.Error()
		}
	}
	m.SendJSON(agentwire.KindReady, agentwire.Name{}, ready)
	if ready.Error != "" {
		m.Finish()
		return nil, errors.New(ready.Error)
	}
	n.plan = o
	n.plan.Plan.Processes = nil
	var borrower *launcher.Borrower
	var identity func() (*launcher.Identity, error)
	if o.Plan.MPI {
		if borrower, err = launcher.Borrow(launcher.Lender(n.bootstrap.Secret, n.bootstrap.Name)); err != nil {
			return nil, err
		}
		identity = borrower.Next
	}
	s := &server{node: n, borrower: borrower, conn: m}
	s.local = supervise.New(supervise.Config{Observer: s, Secret: n.bootstrap.Secret, Plan: o.Plan, Watchdog: n.watchdog, Lease: n.word, Identity: identity})
	s.local.Watch(n.paused)
	return s, nil
}
