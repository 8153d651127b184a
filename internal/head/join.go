package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// begin has the slots of all processes decided.
func (h *Head) begin() {
	h.after(joinWarning, timer{kind: warnOfMissing})
	for _, p := range job.Processes(h.config.Degrees) {
		h.choose(h.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First))
	}
	for i, node := range h.config.Spares {
		id := h.config.spareID(i)
		h.choose(h.enroll(id, firstIncarnation, From{node, id, firstIncarnation}, Spare))
	}
}

// choose has the slot of a process decided.
func (h *Head) choose(m *member) {
	h.propose(decision.Entry{Kind: decision.Born, Process: m.process, Incarnation: m.incarnation, Node: m.from.Node, ID: m.from.ID, Spare: m.role == Spare})
}

// born acts on the kept decision about the slot of a process: it starts the process, or
// sends the slot to a spare that gets one.
func (h *Head) born(e decision.Entry) {
	m := h.holder(e.Process, e.Incarnation)
	switch m.state {
	case chosen:
		if _, lost := h.state.Lost[e.Node]; lost { // a spare gets no verdict; other processes have died with their placement
			m.settled = true
			m.to(ended)
			h.startIfReady()
			return
		}
		h.launch(m)
	case promised:
		h.act(Move{m.from, m.process})
		h.detailf("a spare process on %s takes the place of %v", m.node.Name, m.process)
		m.to(arriving)
		h.place(m)
	case dismissed:
		if !m.made { // nobody has started it
			h.dismissed(m)
			h.settled(m) // another one may be wanted by now
		}
	}
}

// launch has a process started whose slot is decided.
func (h *Head) launch(m *member) {
	if h.phase == over || h.phase == released { // the job does not need it, and it was never started
		m.settled = true
		m.to(ended)
		return
	}
	if m.role == Joiner {
		h.detailf("%v is restarted on %s", m.process, m.node.Name)
	}
	m.to(starting)
	m.made = true
	h.act(Start{m.from, m.process, m.role})
}

// started handles the report of an agent that it has started a process, or could not.
func (h *Head) started(m *member, e Started) {
	switch {
	case e.Err == "":
		if m.pid == 0 {
			m.pid = e.PID
			if m.state.there() { // else there is no process to signal
				h.propose(decision.Entry{Kind: decision.Spawned, Process: m.process, Incarnation: m.incarnation, PID: e.PID})
			}
		}
	case m.state == dead, m.state == ended: // under another head; it never was, and so writes nothing
		h.settled(m)
	case m.state != starting && m.state != dismissed:
	case m.role == Joiner || m.state == dismissed:
		h.sayRefused(m.process, fmt.Sprintf("%v cannot be replaced yet: %s; intrarun tries again, after growing pauses", m.process, e.Err))
		m.to(ended)
		h.withdraw(m, e.Err)
		h.settled(m)
	default:
		m.settled = true
		m.to(ended)
		h.stop(ExitRefused, e.Err, atOnce)
	}
}

// welcome handles a process that has authenticated itself. It gets its slot now or later.
func (h *Head) welcome(m *member, hello *job.Hello) {
	if m.hello != nil || !m.state.there() {
		m.hello = hello // for the report
		return
	}
	if m.role == Joiner {
		if why := h.mismatch(hello); why != "" {
			h.fence(m, ending{job.CauseFenced, "it is incompatible with the other processes: " + why})
			return
		}
	}
	m.hello = hello
	if m.native && !hello.MPI {
		h.refuse("the program was built without the tag mpi: build it with -tags intra,mpi")
		return
	}
	if m.state == starting {
		if !m.again {
			h.detailf("%s has joined: process %d on %s", m.name(), m.pid, m.node.Name)
		}
		m.to(joined)
		switch {
		case m.role == Spare:
			m.to(waiting)
			h.spareReady()
		case h.unopened():
			h.open(hello)
		default:
			h.assign(m)
		}
	}
	h.ready(m)
}

// assign gives its slot to a process that has joined.
func (h *Head) assign(m *member) {
	if m.role == Joiner {
		m.to(arriving)
	} else {
		m.to(running)
	}
	h.place(m)
}

// place sends a process its Setup, and the verdicts that concern it.
func (h *Head) place(m *member) {
	m.told = true
	s := h.config.Setup
	s.Self, s.Incarnation, s.Degrees, s.Listen = m.process, m.incarnation, h.config.Degrees, m.node.Listen
	s.Joiner = m.role == Joiner
	s.MPI = m.native
	s.Together = h.config.Direct != job.DirectOff && h.config.Degrees[m.process.Rank] > 1 && h.together(m.process.Rank)
	for i, k := range h.config.Kills {
		if _, fired := h.state.Fired[i]; k.Process == m.process && k.Point != job.KillAfter && !fired {
			s.Kills = append(s.Kills, k)
		}
	}
	s.Flips = h.flips(m)
	if d := h.recovery.decides; d != nil {
		s.Recovery, s.Next = true, d.Next()
		if s.Verify != nil {
			v := *s.Verify
			v.Backups = h.plan().First() > 0
			s.Verify = &v
		}
	}
	h.describeFiles(&s)
	msg := &job.Message{Kind: job.KindSetup, Setup: &s}
	if m.incarnation > firstIncarnation { // earlier verdicts do not concern it; replacements may have the slots
		msg.Epoch = uint64(len(h.state.Verdicts))
	}
	h.send(m, msg)
	if m.role == Joiner {
		if m.again { // it may not have heard what was told to all
			h.tellAll(m)
		}
		h.ready(m)
		return
	}
	h.tellAll(m)
}

// ready checks whether processes can get their links now. A joiner gets its links once all
// live processes have reported where they listen; agents repeat those reports to a
// successor.
func (h *Head) ready(m *member) {
	if m.ready() {
		h.introduceArrived()
	}
	h.startIfReady()
}

func (h *Head) introduceArrived() {
	if !h.hasBegun || h.phase == joining { // not before the others have begun
		return
	}
	var arrived []*member
	for _, m := range h.all {
		switch {
		case m.role == First && m.state.there() && !m.ready():
			return
		case m.state == arriving && !m.arrived && m.ready() && m.ending == nil:
			arrived = append(arrived, m)
		}
	}
	for _, m := range arrived {
		m.arrived = true
		h.happened(m, (*recovery.Head).Arrived)
	}
}

// mismatch returns why a joiner does not fit this job, or "".
func (h *Head) mismatch(hello *job.Hello) string {
	for _, m := range h.all {
		if m.hello != nil {
			return m.hello.Mismatch(hello)
		}
	}
	return ""
}

// startIfReady starts the job when every live process has joined. Replacements join later,
// through introduceArrived.
func (h *Head) startIfReady() {
	if h.phase != joining || h.unopened() || len(h.all) == 0 {
		return
	}
	var first *member
	for _, m := range h.all {
		switch {
		case m.native && (m.state == dead || m.state == ended):
			h.refuse(fmt.Sprintf("%s has ended before all processes had joined MPI_COMM_WORLD, and the others would wait for it there", m.name()))
			return
		case m.state == dead, m.state == ended, m.role == Joiner:
			continue
		case m.state == gone: // and everybody has yet to hear of it
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
	if !first.hello.Tag && !h.successor {
		h.warnf("warning: the program was built without the intra tag, so its sections are not shared: build it with -tags intra")
	}
	h.phase = working
	if h.state.Started { // under an earlier head, and not all processes know
		h.start()
		return
	}
	h.propose(decision.Entry{Kind: decision.Started})
}

// start lets the processes begin.
func (h *Head) start() {
	if !h.hasBegun {
		h.hasBegun, h.joinedAt = true, h.now
	}
	h.link()
	if mpi := h.mpiSummary(); mpi != nil {
		h.detailf("MPI: %s (%s), %s", mpi.Library, mpi.File, mpi.ThreadLevel)
	}
	h.detailf("all have joined")
	h.goOn()
}

// goOn begins the work of this head once all processes have joined. The processes may have
// begun earlier, under another head.
func (h *Head) goOn() {
	h.armKills()
	h.armWeibull()
	h.introduceArrived()
	h.releaseIfComplete()
}

// link makes the links of all pairs of processes, except those over the network and those
// made at their first use, and sends each process its list of peers.
func (h *Head) link() {
	h.shareMemory()
	peers := make(map[job.Process][]job.Peer)
	var all []*member
	for _, m := range h.all {
		if m.role == First && m.state != dead && m.state != ended {
			all = append(all, m)
		}
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			kind := h.linkKind(a, b)
			onUse := h.onUse(a, b)
			peers[a.process] = append(peers[a.process], b.peer(kind, onUse))
			peers[b.process] = append(peers[b.process], a.peer(kind, onUse))
			if kind != job.LinkTCP && kind != job.LinkMPI && !onUse {
				h.act(Link{Node: a.from.Node, Lower: a.from.ID, Higher: b.from.ID, Kind: kind, Ring: h.config.Ring})
			}
		}
	}
	for _, m := range all {
		if m.state != gone {
			h.send(m, &job.Message{Kind: job.KindStart, Peers: peers[m.process]})
		}
	}
}

func (h *Head) linkKind(a, b *member) string {
	switch {
	case a.native && b.native && !(h.config.MPIBetween && a.from.Node == b.from.Node):
		return job.LinkMPI
	case a.from.Node == b.from.Node:
		return h.config.Link
	}
	return job.LinkTCP
}

// onUse reports whether the agent makes the link between two processes at its first use.
func (h *Head) onUse(a, b *member) bool {
	kind := h.linkKind(a, b)
	return h.config.OnUse && kind != job.LinkTCP && kind != job.LinkMPI && a.process.Rank != b.process.Rank
}

func (m *member) peer(kind string, onUse bool) job.Peer {
	p := job.Peer{Process: m.process, Incarnation: m.incarnation, Link: kind, OnUse: onUse, Address: m.address}
	if kind == job.LinkMPI {
		p.World = m.world.Rank
	}
	return p
}

// shareMemory finds the ranks whose replicas can store into each other's arrays. It warns
// about the others if the user has requested that.
func (h *Head) shareMemory() {
	if h.config.Direct == job.DirectOff {
		return
	}
	for rank, degree := range h.config.Degrees {
		switch {
		case degree == 1, slices.Contains(h.direct, rank):
		case h.together(rank):
			h.direct = append(h.direct, rank)
		case h.config.Direct == job.DirectOn:
			h.warnf("-direct is for replicas on one host, and those of rank %d are not: they send each other their results", rank)
		}
	}
}

// together reports whether all replicas of a rank began on one host.
func (h *Head) together(rank int) bool {
	for replica := range h.config.Degrees[rank] {
		if h.config.Of[job.Process{Rank: rank, Replica: replica}] != h.config.Of[job.Process{Rank: rank}] {
			return false
		}
	}
	return true
}

// warnMissing warns about processes that have not joined. A program may just be slow, so the
// job does not end for that.
func (h *Head) warnMissing() {
	if h.phase != joining {
		return
	}
	for _, m := range h.all {
		if m.state == starting && m.hello == nil {
			h.warnf("%s has not joined the job after %v: is it a program that calls intra.Main?", m.name(), joinWarning)
		}
	}
}

// refuse ends a job whose processes do not belong together.
func (h *Head) refuse(why string) {
	if h.phase == over {
		return
	}
	for _, m := range h.all {
		if m.state.there() {
			h.send(m, &job.Message{Kind: job.KindRefuse, Text: why})
		}
	}
	h.stop(ExitRefused, "the job is refused: "+why, byWord)
}
