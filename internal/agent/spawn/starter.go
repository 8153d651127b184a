package spawn

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/proc"
)

// Starter runs the commands by which one process starts agents: the head those
// of the first hosts, each agent those of the hosts below it. A command may be
// all that holds an agent (ip netns exec becomes it), or nothing that it needs
// (ssh). So as long as the agents are started the job ends with any of them, and
// a watchdog ends them with this process. From then on they are left alone until
// the job is over, since the loss of this host is no business of those below it.
type Starter struct {
	watchdog *watchdog.Watchdog
	grace    time.Duration // the agents below these must have theirs before

	mu       sync.Mutex
	commands []*remoteCommand
	settled  bool // all agents of the job are there
	over     bool // the job is, or never began
}

// remoteCommand is the one that starts one agent.
type remoteCommand struct {
	cmd   *exec.Cmd
	input io.Closer
	ended chan struct{} // closed when it has
}

// News is what there is to say of an agent that is being started.
type News struct {
	Host  string `json:"host"`
	Line  string `json:"line,omitempty"`  // its command has written
	End   string `json:"end,omitempty"`   // how that has ended,
	Said  string `json:"said,omitempty"`  // after it had written all this
	Error string `json:"error,omitempty"` // why it was not even started
}

// Start starts the agents below the one, or the head, that s is for. It tells
// what becomes of them, from goroutines of its own.
func Start(s *Bootstrap, w *watchdog.Watchdog, tell func(News)) *Starter {
	t := &Tree{s.Below, s.Fanout}
	b := &Starter{watchdog: w, grace: time.Duration(t.height()) * levelGrace, over: true}
	for _, p := range t.parts() {
		if err := b.start(s, p, tell); err != nil {
			go tell(News{Host: p.host, Error: fmt.Sprintf("start its agent: %v", err)})
		}
	}
	return b
}

// start runs the command that starts the agent of one host.
func (b *Starter) start(s *Bootstrap, p part, tell func(News)) error {
	args, err := s.Command(p.host)
	if err != nil {
		return err
	}
	theirs := *s
	theirs.Name, theirs.Below = p.host, p.below
	orders, err := json.Marshal(theirs)
	if err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		in.Close()
		return err
	}
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's signals are the head's business
	b.watchdog.Starting()
	err = cmd.Start()
	w.Close()
	if err != nil {
		b.watchdog.NotStarted()
		r.Close()
		return err
	}
	b.watchdog.Watch(cmd.Process.Pid)
	// The input stays open as long as this process lives: its end tells an agent
	// that is still trying to connect that nobody waits for it. What is not read
	// now never will be, as the end of the command then says.
	go func() { _, _ = in.Write(orders) }()
	said := make(chan string, 1)
	go func() { said <- listen(r, p.host, s.Verbose, tell) }()
	sh := &remoteCommand{cmd, in, make(chan struct{})}
	b.commands = append(b.commands, sh)
	go func() {
		_ = proc.AwaitExit(cmd.Process.Pid) // on a kernel without pidfds the watchdog hears of it late
		b.watchdog.Forget(cmd.Process.Pid)
		_ = cmd.Wait() // the state says it all
		close(sh.ended)
		end := News{Host: p.host, End: fmt.Sprintf("%s ended with %v", args[0], cmd.ProcessState)}
		select {
		case end.Said = <-said:
		case <-time.After(pipeTime): // what it has started may hold the pipe
		}
		if !b.isSettled() {
			tell(end)
		}
	}()
	return nil
}

// listen tells what the command of a host writes, if that is wanted, and returns
// the beginning of it.
func listen(r io.ReadCloser, host string, verbose bool, tell func(News)) string {
	defer r.Close()
	var text strings.Builder
	for s := bufio.NewScanner(r); s.Scan(); {
		if verbose {
			tell(News{Host: host, Line: s.Text()})
		}
		if text.Len() < maxQuote {
			text.WriteString(": " + s.Text())
		}
	}
	return text.String()
}

const (
	levelGrace = 2 * time.Second        // what an agent has to end its processes
	pipeTime   = 300 * time.Millisecond // from the end of a command until what it has written is read
)

// maxQuote bounds, but for its last line, how much of what a command has written
// stands in an error, in bytes.
const maxQuote = 4096

func (b *Starter) isSettled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settled
}

// Settle notes that every agent of the job is there.
func (b *Starter) Settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled, b.over = true, false
	for _, sh := range b.commands {
		b.watchdog.Forget(sh.cmd.Process.Pid)
	}
}

// Finish notes that the job is over, and that every agent knows that or will.
func (b *Starter) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// Close waits, if the job is over, until the commands have ended, and ends those
// that do not.
func (b *Starter) Close() {
	b.mu.Lock()
	over := b.over
	b.mu.Unlock()
	for _, sh := range b.commands {
		sh.input.Close()
	}
	if !over {
		return
	}
	deadline := time.Now().Add(b.grace)
	var all sync.WaitGroup
	for _, sh := range b.commands {
		all.Go(func() {
			select {
			case <-sh.ended:
			case <-time.After(time.Until(deadline)):
				proc.SignalGroup(sh.cmd.Process.Pid, syscall.SIGKILL)
				<-sh.ended
			}
		})
	}
	all.Wait()
}
