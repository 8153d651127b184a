package launch

import (
	"os"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/supervise"
)

// member is what the head knows of one process.
type member struct {
	process     job.Process
	id          job.Process // by which its agent knows it
	incarnation uint32      // in which it began
	host        *job.Host   // nil in a job on this host only
	agent       agent       // of its host
	node        arbiter.ID  // of that agent, 0 in a job on this host only
	listen      string      // where it is to listen for links over TCP, "" if it need not
	outputs     *output.Process

	pid     int        // once it is started
	hello   *job.Hello // once it has joined
	placed  bool       // and knows its place
	final   bool       // stats are those of its end; a successor of the head hears them again
	address string     // where it listens for links over TCP
	stats   job.Stats
	ending  *ending   // why it is going to die, if the head knows
	dying   *ending   // why it has died, for the verdict
	dead    bool      // the verdict is made
	old     bool      // it has been there before this head was
	stopped time.Time // when it was last seen stopped

	gone bool            // it is no more, and all it said is known
	exit *supervise.Exit // how it ended, unless it was lost with its host
	lost bool            // with its host

	evidence *evidence     // of the loss of its host
	fenced   time.Duration // when it was killed for what it did, 0 if it was not
	end      string        // for the report: how it ended

	// Recovery.
	spare     bool            // has no place yet
	before    *member         // whose place it takes
	waits     bool            // has no state yet
	dismissed bool            // is not needed any more
	settled   bool            // it is gone, and all that it wrote was taken
	died      time.Duration   // when it was declared dead
	stood     output.Position // where its output stood at a cut
	stoodAt   uint64          // which cut
	donor     *member         // gave it its state
	bytes     int64           // of which there were so many
}

// ending is a cause of death that is known before the death.
type ending struct {
	cause  job.Cause
	detail string
}

// endBy says for the report how a process ended that died of this cause.
func endBy(c job.Cause) string {
	switch c {
	case job.CauseExit, job.CausePanic:
		return "exited"
	case job.CauseHost:
		return "lost"
	case job.CauseFenced, job.CauseLink:
		return "fenced"
	}
	return "killed"
}

// name is how the user is told of it.
func (m *member) name() string {
	if m.spare {
		return "a spare process on " + m.hostName()
	}
	return m.process.String()
}

// stoppedNow: the process was seen stopped just now.
func (m *member) stoppedNow() bool { return time.Since(m.stopped) < 3*supervise.StopPoll }

// ready: the process can get its links.
func (m *member) ready() bool {
	return m.hello != nil && (m.spare || m.listen == "" || m.address != "")
}

// hostName names the host as the user did.
func (m *member) hostName() string {
	switch {
	case m.host != nil:
		return m.host.Name
	case m.hello != nil:
		return m.hello.Host
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// cause finds out, after the death, why the process died.
func (m *member) cause() ending {
	if m.ending != nil {
		return *m.ending
	}
	ws := m.exit.Status
	crashed := m.outputs.Crashed()
	wrapped := m.hello != nil && m.hello.PID != m.pid
	e := ending{job.CauseExit, m.exit.Text}
	switch {
	case crashed:
		e = ending{job.CausePanic, "crashed, " + m.exit.Text}
	case ws.Signaled():
		e = ending{job.CauseSignal, "killed by " + signalName(ws.Signal())}
	case wrapped && ws.ExitStatus() > 128 && ws.ExitStatus() < 128+65: // a shell's way to say it
		e = ending{job.CauseSignal, "killed by " + signalName(syscall.Signal(ws.ExitStatus()-128)) + " under its wrapper"}
	}
	if m.hello == nil && e.cause == job.CauseExit {
		e.detail += "; it never joined the job: is it a program that calls intra.Main?"
	}
	return e
}
