package launch

import (
	"os"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/cores"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// agent starts, watches and ends the processes of one host on behalf of the
// head, and holds the near ends of all that is theirs: control connections,
// pipes, links within the host. Except for feed its methods do not block for
// long; what it sees it tells through an observer.
type agent interface {
	// start starts a process; observer.started says how that went.
	start(p job.Process, r role)
	// send hands a message to a process, if there still is one.
	send(p job.Process, m *job.Message)
	// link gives two processes of this host the two ends of a link.
	link(l hostLink)
	// signal sends a signal to the process and all that it has started.
	signal(p job.Process, s syscall.Signal)
	// feed gives p standard input, nothing at its end. It blocks until there is
	// room for it.
	feed(p job.Process, b []byte)
	// quiet has observer.quiet called with n once all that p has written so far
	// was taken. A process that is gone is never quiet.
	quiet(p job.Process, n uint64)
	// doubtful: the host may be about to be declared lost.
	doubtful() bool
}

// observer is told what an agent sees, from goroutines of the agent. What one
// process does comes in its order, except that output may lag behind: nothing
// but output comes after exited.
type observer interface {
	// started: the process runs as pid, or could not be started.
	started(p job.Process, pid int, err error)
	// hello: the process has proved itself and waits for its Setup.
	hello(p job.Process, h *job.Hello)
	// message: the process, which has joined, says something.
	message(p job.Process, m *job.Message)
	// unheard: nothing more comes on its control connection, or gets there.
	unheard(p job.Process, s silence)
	// output: the process has written, or will write no more if there are no
	// bytes. It blocks until there is room; the bytes stay the agent's.
	output(p job.Process, s output.Stream, b []byte)
	// quiet answers agent.quiet.
	quiet(p job.Process, n uint64)
	// stopped: the process has been stopped for d now.
	stopped(p job.Process, d time.Duration)
	// programGone: the program is gone, and the wrapper it was started by goes
	// on.
	programGone(p job.Process)
	// exited: the process is gone, and its group with it.
	exited(p job.Process, e exit)
	// failed: the agent cannot do what is needed for the job.
	failed(err error)
}

// plan is what the processes of a job have in common.
type plan struct {
	Path    string   `json:"path"` // of the executable
	Args    []string `json:"args"` // with the name in front
	Environ []string `json:"environ"`
	Dir     string   `json:"dir"`   // "" for the agent's own
	Stdin   bool     `json:"stdin"` // rank 0 has standard input

	Bind      cores.Mode    `json:"bind,omitempty"` // "": cores.None
	Processes []job.Process `json:"processes"`      // of this host, in order
}

// role is what a process is started for.
type role byte

const (
	first    role = iota // it is there from the beginning
	newcomer             // it takes the place of another one
	spare                // it waits for a place
)

// silence says why nothing more comes from a process, or gets to it.
type silence struct {
	Why  silenceCause `json:"why"`
	Text string       `json:"text"`
}

type silenceCause string

const (
	silenceEnd      silenceCause = "end"      // the connection has ended
	silenceRefused  silenceCause = "refused"  // by one side in the handshake
	silenceNonsense silenceCause = "nonsense" // what it sent is no message
	silenceUntold   silenceCause = "untold"   // what the head has to tell it cannot be sent
)

// exit is how a process ended.
type exit struct {
	Status syscall.WaitStatus `json:"status"`
	Text   string             `json:"text"`
}

func exitOf(s *os.ProcessState) exit {
	return exit{Status: s.Sys().(syscall.WaitStatus), Text: s.String()}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
