package launch

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/supervise"
)

// deaf: a process lives on without its control connection, and would wait
// for events that cannot reach it.
func (h *head) deaf(m *member) {
	if !m.gone && m.ending == nil && h.phase <= working { // else it is killed anyway
		m.ending = &ending{job.CauseExit, "it closed its control connection"}
		h.kill(m)
	}
}

// welcome gives a process that has proved itself its place, perhaps later.
func (h *head) welcome(m *member, hello *job.Hello) {
	if m.waits {
		if why := h.mismatch(hello); why != "" {
			h.fence(m, ending{job.CauseFenced, "it is incompatible with the other processes: " + why})
			return
		}
		if m.dismissed {
			return // it is being killed
		}
	}
	m.hello = hello
	if m.old {
		if m.spare {
			h.spareReady()
		}
		h.startIfReady()
		return
	}
	h.eventf("%s has joined: process %d on %s", m.name(), m.pid, m.hostName())
	switch {
	case m.spare:
		h.spareReady()
		h.startIfReady()
	case !h.files.wait(m):
		h.place(m)
		h.startIfReady()
	}
}

// place tells a process its place.
func (h *head) place(m *member) {
	m.placed = true
	setup := &job.Setup{
		Self:        m.process,
		Incarnation: m.incarnation,
		Degrees:     h.ledger.degrees,
		Check:       h.config.Check,
		Sched:       h.config.Sched,
		Listen:      m.listen,
		TLS:         h.config.TLS,
		Limit:       h.config.Limit,
		Trace:       h.config.Trace != "",
		Threads:     h.config.Threads,
	}
	for _, k := range h.kills {
		if k.Process == m.process && k.Point != job.KillAfter && !k.fired {
			setup.Kills = append(setup.Kills, k.Kill)
		}
	}
	h.recovery.describe(m, setup)
	h.files.describe(setup)
	h.send(m, &job.Message{Kind: job.KindSetup, Setup: setup})
	if m.waits { // who died before is nothing to it
		h.recovery.arrived(m)
		return
	}
	for _, v := range h.ledger.verdicts {
		h.send(m, &job.Message{Kind: job.KindVerdict, Verdict: &v})
	}
}

// mismatch says why a joiner cannot be one of this job, or "".
func (h *head) mismatch(hello *job.Hello) string {
	for _, m := range h.order {
		if m.hello != nil {
			return m.hello.Mismatch(hello)
		}
	}
	return ""
}

// firstIncarnation is that of a process which replaces no other.
const firstIncarnation = 1

// startIfReady begins the work when every process that lives has joined.
func (h *head) startIfReady() {
	if h.phase != joining || h.files.unknown() {
		return
	}
	var first *member
	for _, m := range h.order {
		switch {
		case m.dead, m.spare && m.gone:
			continue
		case m.gone: // and everybody has yet to hear of it
			return
		case !m.ready():
			return
		}
		if first == nil {
			first = m
		}
		if why := first.hello.Mismatch(m.hello); why != "" {
			h.refuse(fmt.Sprintf("%s and %s are incompatible: %s", first.name(), m.name(), why))
			return
		}
	}
	if first == nil {
		return
	}
	if !first.hello.Tag && !first.old {
		h.warnf("warning: the program was built without the intra tag, so its sections are not shared: build it with -tags intra")
	}
	h.phase = working
	h.decide(arbiter.Entry{Kind: arbiter.Started}, h.start)
}

// start lets the processes begin.
func (h *head) start() {
	if h.joined.IsZero() {
		h.joined = time.Now()
	}
	h.link()
	h.eventf("all have joined")
	h.armKills()
	h.inject()
	h.releaseIfComplete() // they may have begun under another head
}

// shareMemory says of which ranks the replicas can store into each other's
// arrays, if they were asked to, and warns of the others.
func (h *head) shareMemory() {
	if !h.config.Direct {
		return
	}
	for i, a := range h.order {
		for _, b := range h.order[i+1:] {
			switch {
			case (a.gone || b.gone) && !a.old, a.spare || b.spare || a.process.Rank != b.process.Rank || slices.Contains(h.direct, a.process.Rank):
			case h.arena(a, b) > 0:
				h.direct = append(h.direct, a.process.Rank)
			case !a.old:
				h.warnf("warning: -direct: %s and %s are not on the same host, so rank %d sends its updates", a.name(), b.name(), a.process.Rank)
			}
		}
	}
}

// link gives each pair of processes its link and each process its list of
// peers.
func (h *head) link() {
	h.shareMemory()
	peers := make(map[job.Process][]job.Peer)
	for i, a := range h.order {
		for _, b := range h.order[i+1:] {
			if a.dead || b.dead || a.spare || b.spare {
				continue
			}
			kind := job.LinkTCP
			if a.agent == b.agent {
				kind = h.config.Link
			}
			peers[a.process] = append(peers[a.process], b.peer(kind))
			peers[b.process] = append(peers[b.process], a.peer(kind))
			if kind != job.LinkTCP {
				a.agent.Link(supervise.HostLink{Lower: a.id, Higher: b.id, Kind: kind, Ring: h.config.Ring, Arena: h.arena(a, b)})
			}
		}
	}
	for _, m := range h.order {
		if !m.gone && !m.spare {
			h.send(m, &job.Message{Kind: job.KindStart, Peers: peers[m.process]})
		}
	}
}

// arena returns how many replicas share memory, these two among them; 0 if
// they do not.
func (h *head) arena(a, b *member) int {
	rank := a.process.Rank
	if !h.config.Direct || b.process.Rank != rank {
		return 0
	}
	for _, m := range h.order {
		if m.process.Rank == rank && !m.spare && m.agent != a.agent {
			return 0
		}
	}
	return h.ledger.degrees[rank]
}

func (m *member) peer(kind string) job.Peer {
	return job.Peer{Process: m.process, Incarnation: m.incarnation, Link: kind, Address: m.address}
}

// farewell: a joiner has gone without having been needed. Those that had a
// link to it hear that nothing more comes.
func (h *head) farewell(m *member) {
	m.end = "dismissed"
	if h.phase == working {
		v := h.ledger.die(m.process, m.incarnation, job.CauseExit, "not needed any more", h.elapsed())
		h.tell(&v)
		h.releaseIfComplete()
	}
	go func() {
		m.outputs.Finish(true, false)
		h.post(func() {
			m.settled = true
			h.recovery.recruit(m.process)
		})
	}()
}

// refuse ends a job whose processes do not belong together.
func (h *head) refuse(why string) {
	if h.phase == over {
		return
	}
	h.ledger.decide(ExitRefused, "the job is refused: "+why)
	for _, m := range h.order {
		if !m.gone {
			h.send(m, &job.Message{Kind: job.KindRefuse, Text: why})
		}
	}
	h.settle()
}
