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

// Starter runs the commands by which one process starts agents: the head starts those of the
// first hosts, each agent those of the hosts below it.
//
// A command and its agent may end independently: ip netns exec becomes the agent, while an
// agent started by ssh may outlive the command. So while agents are being started, the end of
// any command ends the job, and a watchdog ends the commands with this process. After that the
// Starter leaves them alone until the job is over, since the hosts below this one survive its
// loss.
type Starter struct {
	watchdog *watchdog.Watchdog
	grace    time.Duration // time for the commands to end; the agents below need their own time first

	mu       sync.Mutex
	commands []*remoteCommand
	settled  bool // all agents of the job have started
	over     bool // the job is over, or never began
}

// remoteCommand is the command that starts one agent.
type remoteCommand struct {
	cmd   *exec.Cmd
	input io.Closer
	ended chan struct{} // closed when the command has ended
}

// Event is an event in the start of an agent.
type Event struct {
	Host  string `json:"host"`
	Line  string `json:"line,omitempty"`  // a line that the command has written
	End   string `json:"end,omitempty"`   // how the command has ended
	Said  string `json:"said,omitempty"`  // the output of the command until then
	Error string `json:"error,omitempty"` // why the command could not be started
}

// Start starts the agents below this process, which is an agent or the head. It calls tell
// with their events, from goroutines of its own.
func Start(s *Bootstrap, w *watchdog.Watchdog, tell func(Event)) *Starter {
	t := &Tree{s.Below, s.Fanout}
	b := &Starter{watchdog: w, grace: time.Duration(t.height()) * levelGrace, over: true}
	for _, p := range t.parts() {
		if err := b.start(s, p, tell); err != nil {
			go tell(Event{Host: p.host, Error: fmt.Sprintf("start its agent: %v", err)})
		}
	}
	return b
}

// start runs the command that starts the agent of one host.
func (b *Starter) start(s *Bootstrap, p part, tell func(Event)) error {
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the head handles the terminal's signals
	b.watchdog.Starting()
	err = cmd.Start()
	w.Close()
	if err != nil {
		b.watchdog.NotStarted()
		r.Close()
		return err
	}
	b.watchdog.Watch(cmd.Process.Pid)
	// The input stays open as long as this process lives: its end makes an agent that still
	// tries to connect give up. If the command does not read the input, the command ends, and
	// that end is reported.
	go func() { _, _ = in.Write(orders) }()
	said := make(chan string, 1)
	go func() { said <- listen(r, p.host, s.Verbose, tell) }()
	sh := &remoteCommand{cmd, in, make(chan struct{})}
	b.commands = append(b.commands, sh)
	go func() {
		_ = proc.AwaitExit(cmd.Process.Pid) // if the kernel has no pidfds, the watchdog forgets the group late
		b.watchdog.Forget(cmd.Process.Pid)
		_ = cmd.Wait() // ProcessState holds the result
		close(sh.ended)
		end := Event{Host: p.host, End: fmt.Sprintf("%s ended with %v", args[0], cmd.ProcessState)}
		select {
		case end.Said = <-said:
		case <-time.After(pipeTime): // a process that the command has started may hold the pipe
		}
		if !b.isSettled() {
			tell(end)
		}
	}()
	return nil
}

// listen reads the output of a host's command. If verbose, it reports each line. It returns
// the beginning.
func listen(r io.ReadCloser, host string, verbose bool, tell func(Event)) string {
	defer r.Close()
	var text strings.Builder
	for s := bufio.NewScanner(r); s.Scan(); {
		if verbose {
			tell(Event{Host: host, Line: s.Text()})
		}
		if text.Len() < maxQuote {
			text.WriteString(": " + s.Text())
		}
	}
	return text.String()
}

const (
	levelGrace = 2 * time.Second        // time for an agent to end its processes
	pipeTime   = 300 * time.Millisecond // time from the end of a command until its output is read
)

// maxQuote bounds the output of a command that an error quotes, in bytes. The last line may
// exceed it.
const maxQuote = 4096

func (b *Starter) isSettled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settled
}

// Settle records that every agent of the job has started.
func (b *Starter) Settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled, b.over = true, false
	for _, sh := range b.commands {
		b.watchdog.Forget(sh.cmd.Process.Pid)
	}
}

// Finish records that the job is over, and that every agent knows it or will receive a message
// about it.
func (b *Starter) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// Close waits until the commands have ended, if the job is over. It kills those that do not
// end in time.
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
