package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/spawn"
	"github.com/intrahpc/intra/internal/supervise"
	"github.com/intrahpc/intra/internal/watchdog"
)

// order is the head's first frame.
type order struct {
	Plan      supervise.Plan `json:"plan"`
	Processes int            `json:"processes"`      // how many this agent will start
	Hash      string         `json:"hash,omitempty"` // of the program, if the head sends it to who lacks it
}

// readiness is the agent's answer, and once more when it has got the program.
type readiness struct {
	Address string `json:"address"` // of this host, as the head reaches it
	Port    int    `json:"port"`    // of the socket for beats
	Door    int    `json:"door"`    // the port for the case that it becomes the head
	Lacks   bool   `json:"lacks"`   // the program has to be sent
	Error   string `json:"error,omitempty"`
}

// agentName is the name of an agent for its connection.
func agentName(host string) string { return "agent " + host }

// headName is the head's.
const headName = "head"

// Serve is the life of an agent: it reads from in to which head it belongs,
// connects, and does what the head says until the job is over. The error says
// why it ended otherwise; by then its processes are dead.
func Serve(ctx context.Context, in io.Reader, guardCommand []string) error {
	var s spawn.Bootstrap
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("read from standard input which job this agent belongs to: %w", err)
	}
	if s.Version != job.Version {
		return fmt.Errorf("protocol version %d here, %d at the head: use the same intrarun on all hosts", job.Version, s.Version)
	}
	// The end of the input tells that nobody waits for this agent.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	err := serve(ctx, &s, guardCommand)
	if end, ok := errors.AsType[*JobError](err); ok && !end.Head {
		return nil // the head says it
	}
	return err
}

// serve is the life of an agent. ctx bounds the time until it has connected.
func serve(ctx context.Context, s *spawn.Bootstrap, guardCommand []string) error {
	g, err := watchdog.Start(guardCommand)
	if err != nil {
		return err
	}
	defer g.Close()
	conn, err := connect(ctx, s)
	if err != nil {
		return fmt.Errorf("connect to the head: %w", err)
	}
	m := agentwire.NewConn(conn)
	defer m.Close()
	// An agent that does not reach the head starts none.
	b := spawn.Start(s, g, func(n spawn.News) { m.SendJSON(agentwire.KindNews, job.Process{}, n) })
	defer b.Close()
	sock, err := arbiter.Listen("")
	if err != nil {
		return err
	}
	defer sock.Close() // whether or not it is an engine's by then
	door, err := openDoor(s)
	if err != nil {
		return err
	}
	defer door.close()
	conn.SetDeadline(time.Now().Add(prepareTime))
	a, err := prepare(m, s.Secret, g, sock, door)
	if err != nil {
		return err
	}
	conn.SetDeadline(time.Time{})
	a.starter = b
	defer a.close()
	return a.run()
}

// connect reaches the head at one of its addresses, the first ones first. It
// gives up when ctx ends.
func connect(ctx context.Context, s *spawn.Bootstrap) (net.Conn, error) {
	secure, err := job.NewSecure(&s.Secret, agentName(s.Name), s.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	var tries sync.WaitGroup
	for i, address := range s.Addresses {
		tries.Go(func() {
			select {
			case <-time.After(time.Duration(i) * addressDelay):
			case <-ctx.Done():
				return
			}
			for {
				c, err := (&net.Dialer{KeepAliveConfig: keepAlive, Control: bound}).DialContext(ctx, "tcp", address)
				if err == nil {
					c, err = secure.Client(ctx, c, headName)
				}
				select {
				case results <- result{c, err}:
				case <-ctx.Done():
					if err == nil {
						c.Close()
					}
					return
				}
				if err == nil {
					return
				}
				select {
				case <-time.After(addressDelay):
				case <-ctx.Done():
					return
				}
			}
		})
	}
	defer tries.Wait()
	last := errors.New("it has no address")
	for {
		select {
		case r := <-results:
			if r.err == nil {
				cancel()
				return r.conn, nil
			}
			last = r.err
		case <-ctx.Done():
			return nil, last
		}
	}
}

// addressDelay is the time between tries, and by which one address of the head
// is preferred to the next.
const addressDelay = 300 * time.Millisecond

// prepareTime bounds the time until an agent has all that it needs.
const prepareTime = 2 * time.Minute

// prepare takes the head's order and the program if this host lacks it.
func prepare(m *agentwire.Conn, secret job.Secret, g *watchdog.Watchdog, sock *arbiter.Socket, d *door) (*server, error) {
	f, err := m.Read()
	if err != nil || f.Kind != agentwire.KindPlan {
		return nil, fmt.Errorf("wait for the head's order: %w", errors.Join(err, agentwire.ErrFrame))
	}
	var o order
	if err := f.Decode(&o); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(m.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	ready := readiness{Address: host, Port: sock.Port(), Door: d.port()}
	if err := supervise.CheckDescriptors(o.Processes); err != nil {
		ready.Error = err.Error()
	} else if o.Hash != "" && hashOf(o.Plan.Path) != o.Hash {
		ready.Lacks = true
		m.SendJSON(agentwire.KindReady, job.Process{}, ready)
		ready.Lacks = false
		if o.Plan.Path, err = receive(m, o, g); err != nil {
			ready.Error = err.Error()
		}
	}
	m.SendJSON(agentwire.KindReady, job.Process{}, ready)
	if ready.Error != "" {
		m.Finish()
		return nil, errors.New(ready.Error)
	}
	t, err := newTenant(sock, secret, g)
	if err != nil {
		return nil, err
	}
	s := &server{conn: m, tenant: t, guard: g, door: d, seats: make(map[job.Process]*seat), links: make(map[[2]job.Process]bool)}
	s.local = supervise.New(supervise.Config{Observer: s, Secret: secret, Plan: o.Plan, Watchdog: g, Lease: t.word})
	s.local.Watch(s.tenant.paused)
	return s, nil
}

// hashOf returns the hash of a file, "" if it cannot be run or read.
func hashOf(path string) string {
	if !spawn.Executable(path) {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// receive writes the program that the head sends to a folder that goes away
// with the agent.
func receive(m *agentwire.Conn, o order, g *watchdog.Watchdog) (string, error) {
	dir, err := os.MkdirTemp("", "intrarun-")
	if err != nil {
		return "", fmt.Errorf("make room for the program: %w", err)
	}
	g.Folder(dir)
	path := filepath.Join(dir, filepath.Base(o.Plan.Path))
	w, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", fmt.Errorf("make room for the program: %w", err)
	}
	var failed error
	for { // to the end also if there is no room, so that the head hears of it
		f, err := m.Read()
		if err != nil || f.Kind != agentwire.KindProgram {
			w.Close()
			return "", fmt.Errorf("receive the program: %w", errors.Join(err, agentwire.ErrFrame))
		}
		if len(f.Body) == 0 {
			break
		}
		if failed == nil {
			_, failed = w.Write(f.Body)
		}
	}
	if err := errors.Join(failed, w.Close()); err != nil {
		return "", fmt.Errorf("write the program: %w", err)
	}
	if hashOf(path) != o.Hash {
		return "", errors.New("the program did not arrive as it was sent")
	}
	return path, nil
}
