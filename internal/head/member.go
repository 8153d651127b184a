package head

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/cure"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// member is what the head knows of one process.
type member struct {
	process     job.Process // its place; of a spare, its id
	incarnation uint32      // in that place
	from        From        // by what its agent knows it
	node        *Node
	role        Role // First once it has its state
	state       memberState
	told        bool // it has had its Setup, and so hears of verdicts
	again       bool // it had joined under another head
	arrived     bool // recovery has heard that it waits for its state

	pid     int           // once it is started
	hello   *job.Hello    // once it has joined; in a successor, once that is told again
	address string        // where it listens for links over TCP
	native  bool          // it is one of MPI_COMM_WORLD
	world   *job.World    // what it has said of that; nil before
	stats   job.Stats     // the latest
	heard   time.Duration // when they came
	final   bool          // they are those of its end
	ending  *ending       // why it is going to die, if the head knows
	stopped time.Duration // when it was last seen stopped
	wrote   time.Duration // when it last wrote something, as far as this head has heard

	made    bool              // there is an output for it
	settled bool              // nothing more comes of what it has written
	exit    *Exit             // how it ended, unless it was lost with its host
	fenced  time.Duration     // when it was killed for what it did, 0 if it was not
	verdict *decision.Verdict // on it, once it is dead
	end     string            // for the report: how it ended

	// Its part in a cut.
	stood Position   // where its output stood at the last cut that it was in
	cut   *job.Reply // with which it told that it was in that cut, nil before
	muted bool       // it goes back, and what it writes counts once it is there
}

// ending is a cause of death, known before the death or found after it.
type ending struct {
	cause  job.Cause
	detail string
}

// itself reports whether a process ends so without being killed.
func itself(c job.Cause) bool { return c == job.CauseExit || c == job.CausePanic }

// longAgo is before anything that a head has seen.
const longAgo = -time.Hour

// firstIncarnation is that of a process which replaces no other.
const firstIncarnation = 1

// enroll puts a process on the list of all.
func (h *Head) enroll(p job.Process, incarnation uint32, from From, role Role) *member {
	m := &member{from: from, node: h.config.node(from.Node), role: role, stopped: longAgo,
		native: h.config.Setup.MPI && role == First && incarnation == firstIncarnation}
	h.byAgent[from] = m
	h.all = append(h.all, m)
	h.take(m, p, incarnation)
	return m
}

// holder returns the process that has, or had, a place in that incarnation, nil
// if the head knows of none.
func (h *Head) holder(p job.Process, incarnation uint32) *member {
	return h.byPlace[job.Endpoint{Process: p, Incarnation: incarnation}]
}

// take gives a process its place, as far as this head is concerned.
func (h *Head) take(m *member, p job.Process, incarnation uint32) {
	m.process, m.incarnation = p, incarnation
	h.byPlace[job.Endpoint{Process: p, Incarnation: incarnation}] = m
	if m.role != Spare {
		h.places[p] = m
	}
}

// endpoint names the process for as long as the job lasts.
func (m *member) endpoint() job.Endpoint {
	return job.Endpoint{Process: m.process, Incarnation: m.incarnation}
}

// name is how the user is told of it.
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

// coming reports whether the process is to take the place of a dead one, and has
// no state yet.
func (m *member) coming() bool { return m.role == Joiner && m.state < dismissed }

// alive reports whether the process has its state, and was not declared dead.
// One that is gone counts until the verdict, and one that has ended well always.
func (m *member) alive() bool { return m.role == First && m.state != dead }

// stoppedNow reports whether the process was seen stopped just now.
func (h *Head) stoppedNow(m *member) bool { return h.now-m.stopped < stoppedFor }

// cause finds out, after the death, why the process died.
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
	case wrapped && ws.ExitStatus() > 128 && ws.ExitStatus() < 128+65: // a shell's way to say it
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
	case ws.ExitStatus() != 0: // it has written why
		e.detail += " before it had joined the job"
	default:
		e.detail += "; it never joined the job: is it a program that calls intra.Main?"
	}
	return e
}

// outOfMemory begins the cause of death of a process that the kernel has killed for want of
// memory. Another replica would have needed more memory still.
const outOfMemory = "killed by the kernel for want of memory"

// endBy is how a process ended that was declared dead for that cause.
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
