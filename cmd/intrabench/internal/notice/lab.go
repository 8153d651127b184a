package notice

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// Lab runs real jobs on two hosts, which are network namespaces.
type Lab struct {
	Intrarun string
	Mover    func(bytes int) []string // command lines of the programs
	Sharer   []string

	pair *netns.Pair
	dir  string
	jobs int
}

// Open makes the hosts. If that is not allowed, the error wraps netns.ErrUnsupported.
func (l *Lab) Open() (err error) {
	if l.pair, err = netns.NewPair(); err != nil {
		return err
	}
	if l.dir, err = os.MkdirTemp("", "intrabench-"); err != nil {
		l.pair.Close()
		return fmt.Errorf("make room for reports: %w", err)
	}
	return nil
}

// Close removes the hosts and all processes on them.
func (l *Lab) Close() {
	l.pair.Close()
	os.RemoveAll(l.dir)
}

// runTime bounds the time of every step of a job.
const runTime = 3 * time.Minute

// terminated is the exit code after SIGTERM.
const terminated = 128 + int(syscall.SIGTERM)

// command is a command of intrarun under way on a host.
type command struct {
	*exec.Cmd
	out   *stamped    // standard output
	said  *trial.Said // standard error
	ended chan struct{}
}

// start starts intrarun on a host.
func (l *Lab) start(host int, env []string, args ...string) (*command, error) {
	c := &command{out: newStamped(), said: trial.NewSaid(), ended: make(chan struct{})}
	c.Cmd = l.pair.Hosts[host].Command("env", append(append(env, l.Intrarun), args...)...)
	c.Stdout, c.Stderr, c.Dir, c.WaitDelay = c.out, c.said, l.dir, time.Second
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start a job: %w", err)
	}
	go func() {
		_ = c.Wait() // end checks the exit code
		close(c.ended)
	}()
	return c, nil
}

// await waits until the command has printed part n times.
func (c *command) await(ctx context.Context, part string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	if err := c.said.Await(ctx, part, n, c.ended); err != nil {
		return fmt.Errorf("wait for %q: %w\n%s", part, err, c.said)
	}
	return nil
}

// end waits for the end of the command.
func (c *command) end(want int) error {
	select {
	case <-c.ended:
	case <-time.After(runTime):
		return fmt.Errorf("%w: it does not end\n%s", trial.ErrOutput, c.said)
	}
	if code := c.ProcessState.ExitCode(); code != want {
		return fmt.Errorf("%w: it ended with exit code %d instead of %d\n%s", trial.ErrOutput, code, want, c.said)
	}
	return nil
}

// stop ends a command in any state.
func (c *command) stop() {
	_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-c.ended:
	case <-time.After(runTime):
		_ = c.Process.Kill()
		<-c.ended
	}
}

// rest waits for d. It fails if the command ends first.
func (c *command) rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-c.ended:
		return fmt.Errorf("%w: the job has ended\n%s", trial.ErrOutput, c.said)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// job starts a job whose intrarun is on the first host. places has the slots of each host.
func (l *Lab) job(places string, flags string, program []string) (*command, string, error) {
	l.jobs++
	report := filepath.Join(l.dir, strconv.Itoa(l.jobs)+".json")
	args := []string{"-v", "-report", report, "-rsh", "ip netns exec {host}", "-hosts", strings.NewReplacer("h0", l.pair.Hosts[0].Name, "h1", l.pair.Hosts[1].Name).Replace(places)}
	c, err := l.start(0, nil, append(append(args, strings.Fields(flags)...), program...)...)
	return c, report, err
}

// drain makes a host or a process leave a job.
func (l *Lab) drain(ctx context.Context, c *command, what string) error {
	ask := l.pair.Hosts[0].Command(l.Intrarun, "drain", strconv.Itoa(c.Process.Pid), what)
	_, err := trial.Run(ctx, ask.Args)
	return err
}

// Moves implements Runner.
func (l *Lab) Moves(ctx context.Context, bytes, moves int) (m Moves, err error) {
	c, name, err := l.job("h0:1,h1:2", "-n 2 -r 1 -replace", l.Mover(bytes))
	if err != nil {
		return m, err
	}
	defer c.stop()
	if err := c.await(ctx, "all have joined", 1); err != nil {
		return m, err
	}
	const before = 20 // passes, so that their time is known
	if err := c.out.await(ctx, 1+before, c.ended); err != nil {
		return m, fmt.Errorf("%w\n%s", err, c.said)
	}
	for i := range moves {
		if err := l.drain(ctx, c, "0.0"); err != nil {
			return m, err
		}
		if err := c.await(ctx, "0.0 has moved from ", i+1); err != nil {
			return m, err
		}
		if err := c.rest(ctx, between); err != nil {
			return m, err
		}
	}
	c.stop()
	if err := c.end(terminated); err != nil {
		return m, err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return m, fmt.Errorf("read the report: %w", err)
	}
	if err := trial.Decode("the report of intrarun is", b, &m.report); err != nil {
		return m, err
	}
	return m, m.read(c.out.lines())
}

// between is the time from one move to the next notice.
const between = 300 * time.Millisecond

var joinBy = regexp.MustCompile(`another host joins by: (INTRA_SECRET_FILE=\S+) intrarun join (.*)\n`)

// Join implements Runner.
func (l *Lab) Join(ctx context.Context, alone, together time.Duration) (p Passes, err error) {
	c, _, err := l.job("h0:1", "-n 1 -r 1..2", l.Sharer)
	if err != nil {
		return p, err
	}
	defer c.stop()
	if err := c.await(ctx, "all have joined", 1); err != nil {
		return p, err
	}
	if err := c.rest(ctx, alone); err != nil {
		return p, err
	}
	words := joinBy.FindStringSubmatch(c.said.String())
	if words == nil {
		return p, fmt.Errorf("%w: no command by which a host joins:\n%s", trial.ErrOutput, c.said)
	}
	guest, err := l.start(1, []string{words[1]}, append([]string{"join", "-name", l.pair.Hosts[1].Name}, strings.Fields(words[2])...)...)
	if err != nil {
		return p, err
	}
	defer guest.stop()
	if err := guest.await(ctx, "has joined the job", 1); err != nil {
		return p, err
	}
	p.Joined = time.Now()
	if err := c.rest(ctx, together); err != nil {
		return p, err
	}
	p.Leaves = time.Now()
	if err := l.drain(ctx, c, l.pair.Hosts[1].Name); err != nil {
		return p, err
	}
	if err := c.await(ctx, l.pair.Hosts[1].Name+" has no process any more", 1); err != nil {
		return p, err
	}
	if err := c.rest(ctx, between); err != nil {
		return p, err
	}
	c.stop()
	if err := c.end(terminated); err != nil {
		return p, err
	}
	return p, p.read(c.out.lines())
}

// Pair implements Runner.
func (l *Lab) Pair(ctx context.Context, d time.Duration) (p Passes, err error) {
	c, _, err := l.job("h0:1,h1:1", "-n 1 -r 2", l.Sharer)
	if err != nil {
		return p, err
	}
	defer c.stop()
	if err := c.await(ctx, "all have joined", 1); err != nil {
		return p, err
	}
	p.Joined = time.Now()
	if err := c.rest(ctx, d); err != nil {
		return p, err
	}
	p.Leaves = time.Now()
	c.stop()
	if err := c.end(terminated); err != nil {
		return p, err
	}
	return p, p.read(c.out.lines())
}

// report is the part of intrarun's report that this package uses.
type report struct {
	Drains []struct {
		Bytes   float64 `json:"bytes"`
		Stall   float64 `json:"stall_ms"`
		Seconds float64 `json:"seconds"`
	} `json:"drains"`
	Failures  []json.RawMessage `json:"failures"`
	Rollbacks []json.RawMessage `json:"rollbacks"`
}
