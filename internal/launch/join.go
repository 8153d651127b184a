package launch

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// converse is the head's end of one control connection: the handshake, then
// all that the process says. It posts what it learns.
func (h *head) converse(m *member) {
	defer close(m.silent)
	hello, err := job.Answer(m.conn, &h.secret)
	if err != nil {
		if errors.Is(err, job.ErrRefused) || errors.Is(err, job.ErrMessage) {
			h.post(func() { h.refuse(fmt.Sprintf("%v cannot join: %v", m.process, err)) })
		}
		return // it is gone, or will be; its agent sees that
	}
	pid := m.conn.PID()
	h.post(func() { h.welcome(m, hello, pid) })
	for {
		msg, files, err := m.conn.Read()
		closeFiles(files)
		if err != nil {
			if errors.Is(err, job.ErrMessage) {
				h.post(func() { h.fence(m, ending{job.CauseFenced, fmt.Sprintf("it sent nonsense: %v", err)}) })
			}
			h.post(func() { h.after(lastWords, func() { h.unheard(m) }) })
			return
		}
		if msg.Kind == job.KindTrace { // too many for the head, and none of its business
			h.trace.add(m.process, msg.Trace)
			continue
		}
		h.post(func() { h.message(m, msg) })
	}
}

// unheard: a process lives on without its control connection, and would wait
// for events that cannot reach it.
func (h *head) unheard(m *member) {
	if !m.gone && m.ending == nil && h.phase != released {
		m.ending = &ending{job.CauseExit, "it closed its control connection"}
		h.kill(m)
	}
}

// welcome gives a process that has proved itself its place.
func (h *head) welcome(m *member, hello *job.Hello, pid int) {
	m.hello = hello
	h.agent.joined(m.process, pid)
	h.eventf("%v has joined: process %d on %s", m.process, pid, hello.Host)
	setup := &job.Setup{
		Self:        m.process,
		Incarnation: firstIncarnation,
		Degrees:     h.ledger.degrees,
		Check:       h.config.Check,
		Sched:       h.config.Sched,
		Link:        h.config.Link,
		Limit:       h.config.Limit,
		Trace:       h.config.Trace != "",
	}
	for _, k := range h.kills {
		if k.Process == m.process && k.Point != job.KillAfter {
			setup.Kills = append(setup.Kills, k.Kill)
		}
	}
	m.mail.send(&job.Message{Kind: job.KindSetup, Setup: setup})
	for _, v := range h.ledger.verdicts {
		m.mail.send(&job.Message{Kind: job.KindVerdict, Verdict: &v})
	}
	h.startIfReady()
}

// firstIncarnation is that of a process which replaces no other.
const firstIncarnation = 1

// startIfReady begins the work when every process that lives has joined.
func (h *head) startIfReady() {
	if h.phase != joining {
		return
	}
	var first *member
	for _, m := range h.order {
		if m.gone {
			continue
		}
		if !m.ready(h.config.Link) {
			return
		}
		if first == nil {
			first = m
		}
		if why := first.hello.Mismatch(m.hello); why != "" {
			h.refuse(fmt.Sprintf("%v and %v do not fit together: %s", first.process, m.process, why))
			return
		}
	}
	if first == nil {
		return
	}
	if err := h.link(); err != nil {
		h.refuse(err.Error())
		return
	}
	if !first.hello.Tag {
		h.warnf("warning: the program was built without the intra tag, so its sections are not shared: build it with -tags intra")
	}
	h.phase, h.joined = working, time.Now()
	h.eventf("all have joined")
	h.armKills()
}

// link gives each pair of processes its link and each process its list of
// peers.
func (h *head) link() error {
	peers := make(map[job.Process][]job.Peer)
	for i, a := range h.order {
		for _, b := range h.order[i+1:] {
			if a.gone || b.gone {
				continue
			}
			peers[a.process] = append(peers[a.process], b.peer())
			peers[b.process] = append(peers[b.process], a.peer())
			if h.config.Link == job.LinkTCP {
				continue
			}
			lower, higher, err := job.LinkFiles(h.config.Link, h.config.Ring)
			if err != nil {
				return fmt.Errorf("make the link between %v and %v: %w", a.process, b.process, err)
			}
			a.mail.send(&job.Message{Kind: job.KindLink, Process: &b.process}, lower)
			b.mail.send(&job.Message{Kind: job.KindLink, Process: &a.process}, higher)
		}
	}
	for _, m := range h.order {
		if !m.gone {
			m.mail.send(&job.Message{Kind: job.KindStart, Peers: peers[m.process]})
		}
	}
	return nil
}

func (m *member) peer() job.Peer {
	return job.Peer{Process: m.process, Incarnation: firstIncarnation, Address: m.address}
}

// refuse ends a job whose processes do not belong together.
func (h *head) refuse(why string) {
	if h.phase == over {
		return
	}
	h.ledger.decide(ExitRefused, "the job is refused: "+why)
	for _, m := range h.order {
		if !m.gone {
			m.mail.send(&job.Message{Kind: job.KindRefuse, Text: why})
		}
	}
	h.settle()
}

// enlist starts one process and its conversation.
func (h *head) enlist(p job.Process, path string, streams [2]*forwarder) error {
	conn, control, err := job.Pair()
	if err != nil {
		return err
	}
	secret, err := h.secret.File()
	if err != nil {
		control.Close()
		conn.Close()
		return err
	}
	outputs, w, err := openOutputs(p, streams)
	if err != nil {
		control.Close()
		conn.Close()
		secret.Close()
		return err
	}
	in := job.Inheritance{Control: control, Secret: secret, Crash: w[2]}
	defer in.Close()
	defer closeFiles(w[:2])
	c := command{
		path: path, args: h.config.Program, environ: append(os.Environ(), in.Environ(p)...),
		stdout: w[0], stderr: w[1], extra: in.Files(),
	}
	if p.Rank == 0 && h.config.Stdin != nil {
		r, feed, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("create a pipe: %w", err)
		}
		defer r.Close()
		h.stdin.add(feed)
		c.stdin = r
	}
	m := &member{process: p, conn: conn, mail: newMailbox(conn), outputs: outputs, silent: make(chan struct{})}
	// The head's loop does not run yet: what the agent sees waits for it.
	h.members[p] = m
	h.order = append(h.order, m)
	if m.pid, err = h.agent.start(p, c); err != nil {
		return err
	}
	h.left++
	go h.converse(m)
	return nil
}
