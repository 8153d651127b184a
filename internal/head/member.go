package head

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/cure"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// member is the head's knowledge about one process.
type member struct {
	process     job.Process // its slot; for a spare, its ID
	incarnation uint32      // number of the process in that slot
	from        From        // the name by which its agent knows it
	node        *Node
	role        Role // First once the process has its state
	state       memberState
	informed    bool // the process has its Setup, and so receives verdicts
	again       bool // the process had joined under an earlier head
	arrived     bool // recovery knows that the process waits for its state
	// relieves marks a process that is to take over from the live process of its slot, and
	// does not have the slot yet.
	relieves bool

	pid     int           // 0 before the process is started
	hello   *job.Hello    // nil before the process has joined; in a successor, before the agent has repeated its Hello
	address string        // where it listens for links over TCP
	native  bool          // the process is in MPI_COMM_WORLD
	world   *job.World    // its report about MPI_COMM_WORLD; nil before the report
	stats   job.Stats     // the latest counts
	statsAt time.Duration // when stats arrived
	final   bool          // stats are the counts at its end
	done    bool          // the program has returned, and the job has not rolled back since
	ending  *ending       // why the process is about to die, if the head knows
	stopped time.Duration // when the process was last seen stopped
	wrote   time.Duration // when the process last wrote output, as far as this head knows

	made    bool              // an output was made for it
	settled bool              // its output is complete
	exit    *Exit             // how the process ended, unless it was lost with its host
	fenced  time.Duration     // when the head fenced it, 0 if it did not
	verdict *decision.Verdict // the verdict on the process, once it is dead
	end     string            // how the process ended, for the report

	inCut
}

// inCut is the part of a process in a cut, a safe point of all processes at which no message
// is under way.
type inCut struct {
	stood Position   // the position of its output at the last cut that it was in
	cut   *job.Reply // its report that it has stopped in that cut, nil before the report
	muted bool       // the process rolls back, and its writes do not count as output until it has
}

// ending is a cause of death, known before the death or found after it.
type ending struct {
	cause  job.Cause
	detail string
}

// itself reports whether a process that died of c ended by itself, without being killed.
func itself(c job.Cause) bool { return c == job.CauseExit || c == job.CausePanic }

// longAgo is a time before any event of a head.
const longAgo = -time.Hour

// firstIncarnation is the incarnation of a process that replaces no other.
const firstIncarnation = 1

// endpoint returns the name of the process that is unique in the job.
func (m *member) endpoint() job.Endpoint {
	return job.Endpoint{Process: m.process, Incarnation: m.incarnation}
}

// name returns the name of the process in messages to the user.
func (m *member) name() string {
	if m.role == Spare {
		return "a spare process on " + m.node.Name
	}
	return m.process.String()
}

// ready reports whether the process can get its links.
func (m *member) ready() bool {
	return m.hello != nil && (m.role == Spare || m.node.Listen == "" || m.address != "") && (!m.native || m.world != nil)
}

// coming reports whether the process is a replacement that has no state yet.
func (m *member) coming() bool { return m.role == Joiner && m.state < dismissed }

// alive reports whether the process has its state and was not declared dead. A process that
// has exited counts until its verdict. A process that has ended well counts forever.
func (m *member) alive() bool { return m.role == First && m.state != dead }

// vacant reports whether m stands for a slot that has no process at the start.
func (m *member) vacant() bool { return m.from.Node == 0 }

// knows reports whether the process knows that the state of a replica of its rank differs.
func (m *member) knows() bool { return m.stats.Watched != nil && m.stats.Watched.Known != "" }

// cause returns why the process died, once it has exited.
func (m *member) cause() ending {
	if m.ending != nil {
		return *m.ending
	}
	ws := m.exit.Status
	wrapped := m.hello != nil && m.hello.PID != m.pid
	e := ending{job.CauseExit, m.exit.Text}
	switch {
	case m.exit.Quit:
		e = ending{job.CauseSignal, "ended by SIGQUIT"}
	case m.exit.Crashed:
		e = ending{job.CausePanic, "crashed, " + m.exit.Text}
	case m.exit.Memory != "":
		e = ending{job.CauseSignal, outOfMemory + ": " + m.exit.Memory}
	case ws.Signaled():
		e = ending{job.CauseSignal, "killed by " + signalName(ws.Signal())}
		if why := cure.Signal(ws.Signal()); why != "" {
			e.detail += ", since " + why
		}
	case wrapped && ws.ExitStatus() > 128 && ws.ExitStatus() < 128+65: // a shell reports a signal by such a code
		e = ending{job.CauseSignal, "killed by " + signalName(syscall.Signal(ws.ExitStatus()-128)) + " under its wrapper"}
	}
	if m.hello != nil && e.cause == job.CauseExit && ws.Exited() && ws.ExitStatus() == 0 {
		if e.detail += " before run had returned"; wrapped {
			e.detail += ", under its wrapper"
		} else {
			e.detail += ": the program, or a library that it uses, calls os.Exit(0)"
		}
	}
	switch {
	case m.hello != nil || e.cause != job.CauseExit:
	case ws.ExitStatus() != 0: // the process has written why
		e.detail += " before it had joined the job"
	default:
		e.detail += "; it never joined the job: is it a program that calls intra.Main?"
	}
	return e
}

// outOfMemory begins the cause of death of a process that the kernel has killed for want of
// memory. No advice to use more replicas follows it: they would need still more memory.
const outOfMemory = "killed by the kernel for want of memory"

// endBy returns how a process ended that was declared dead for that cause, for the report.
func endBy(c job.Cause) string {
	switch c {
	case job.CauseExit, job.CausePanic:
		return "exited"
	case job.CauseFenced, job.CauseLink:
		return "fenced"
	case job.CauseHost:
		return "lost"
	}
	return "killed"
}
