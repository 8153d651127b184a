package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// begin proposes the slots of all processes.
func (ms *members) begin() {
	ms.after(joinWarning, timer{kind: warnOfMissing})
	for _, p := range job.Processes(ms.config.Degrees) {
		if ms.config.vacant(p) {
			ms.vacate(p)
			ms.propose(decision.Entry{Kind: decision.Vacant, Process: p})
			continue
		}
		ms.choose(ms.enroll(p, firstIncarnation, From{ms.config.Of[p], p, firstIncarnation}, First))
	}
	for i, node := range ms.config.Spares {
		id := ms.config.spareID(i)
		ms.choose(ms.enroll(id, firstIncarnation, From{node, id, firstIncarnation}, Spare))
	}
}

// vacate lists a slot that has no process at the start, as if its process were dead.
func (ms *members) vacate(p job.Process) {
	m := ms.enroll(p, firstIncarnation, From{0, p, firstIncarnation}, First)
	m.node, m.state, m.settled, m.end = new(Node), dead, true, "dismissed"
}

// vacancies returns the slots that have no process at the start.
func (ms *members) vacancies() (all []job.Process) {
	for _, p := range job.Processes(ms.config.Degrees) {
		if ms.config.vacant(p) {
			all = append(all, p)
		}
	}
	return all
}

// choose proposes the slot of a process.
func (ms *members) choose(m *member) {
	ms.propose(decision.Entry{Kind: decision.Placed, Process: m.process, Incarnation: m.incarnation, Node: m.from.Node, ID: m.from.ID,
		Spare: m.role == Spare, Relieves: m.relieves})
}

// startPlaced acts on the kept decision about the slot of a process. It starts the process, or sends
// the slot to the chosen spare.
func (ms *members) startPlaced(e decision.Entry) {
	m := ms.holder(e.Process, e.Incarnation)
	switch m.state {
	case chosen:
		if _, lost := ms.state.Lost[e.Node]; lost { // a spare, which gets no verdict; any other process on a lost host is dead by this entry
			m.settled = true
			m.to(ended)
			ms.startIfReady()
			return
		}
		ms.launch(m)
	case promised:
		ms.act(Move{m.from, m.process}) // also for a relieving process, which is muted until it has the slot
		ms.detailf("a spare process on %s takes the place of %v", m.node.Name, m.process)
		m.to(arriving)
		ms.place(m)
	case dismissed:
		if !m.made { // no agent was ordered to start the process
			ms.dismissed(m)
			ms.settled(m) // the slot may need another process by now
		}
	}
}

// launch orders the start of a process. Its slot is decided.
func (ms *members) launch(m *member) {
	if ms.phase == over || ms.phase == released { // the job does not need the process, which was never started
		m.settled = true
		m.to(ended)
		return
	}
	switch {
	case m.relieves:
		ms.detailf("%v moves to %s: a process is started there", m.process, m.node.Name)
	case m.role == Joiner:
		ms.detailf("%v is restarted on %s", m.process, m.node.Name)
	}
	m.to(starting)
	m.made = true
	ms.act(Start{m.from, m.process, m.role})
}

// started handles the report of an agent that it has started a process, or could not.
func (ms *members) started(m *member, e Started) {
	switch {
	case e.Err == "":
		if m.pid == 0 {
			m.pid = e.PID
			if m.state.there() { // otherwise there is no process to signal
				ms.propose(decision.Entry{Kind: decision.Spawned, Process: m.process, Incarnation: m.incarnation, PID: e.PID})
			}
		}
	case m.state == dead, m.state == ended: // an earlier head has declared it dead; the process never ran, and so writes nothing
		ms.settled(m)
	case m.state != starting && m.state != dismissed:
	case m.role == Joiner || m.state == dismissed:
		ms.sayRefused(m.process, fmt.Sprintf("%v cannot be replaced yet: %s; intrarun tries again, after growing pauses", m.process, e.Err))
		m.to(ended)
		ms.withdraw(m, e.Err)
		ms.settled(m)
	case ms.late(m):
		ms.refuseSpare(m, e.Err)
	default:
		m.settled = true
		m.to(ended)
		ms.stop(ExitRefused, e.Err, atOnce)
	}
}

// welcome handles a process that has authenticated itself. The process gets its slot now or
// later.
func (ms *members) welcome(m *member, hello *job.Hello) {
	if m.hello != nil || !m.state.there() {
		m.hello = hello // kept for the report
		return
	}
	if m.role == Joiner || ms.late(m) {
		if i := slices.IndexFunc(ms.all, func(o *member) bool { return o.hello != nil }); i >= 0 {
			if why := ms.all[i].hello.Mismatch(hello); why != "" {
				ms.fence(m, ending{job.CauseFenced, "it is incompatible with the other processes: " + why})
				return
			}
		}
	}
	m.hello = hello
	if m.native && !hello.MPI {
		ms.refuse("the program was built without the tag mpi: build it with -tags intra,mpi")
		return
	}
	if m.state == starting {
		if !m.again {
			ms.detailf("%s has joined: process %d on %s", m.name(), m.pid, m.node.Name)
		}
		m.to(joined)
		switch {
		case m.role == Spare:
			m.to(waiting)
			ms.recovery.notify((*recovery.Head).SpareReady)
		case ms.unopened():
			if !ms.opening { // the first process that joins determines the job to which the files have to belong
				ms.opening = true
				ms.act(Open{hello.Files(len(ms.config.Degrees))})
			}
		default:
			ms.assign(m)
		}
	}
	ms.ready(m)
}

// assign gives a process that has joined its slot.
func (ms *members) assign(m *member) {
	if m.role == Joiner {
		m.to(arriving)
	} else {
		m.to(running)
	}
	ms.place(m)
}

// place sends a process its Setup and the verdicts that it needs.
func (ms *members) place(m *member) {
	m.informed = true
	s := ms.config.Setup
	s.Self, s.Incarnation, s.Degrees, s.Listen = m.process, m.incarnation, ms.config.Degrees, m.node.Listen
	s.Joiner = m.role == Joiner
	s.MPI = m.native
	s.Together = ms.config.Direct != job.DirectOff && ms.config.Degrees[m.process.Rank] > 1 && ms.together(m.process.Rank)
	for i, k := range ms.config.Kills {
		if _, fired := ms.state.Fired[i]; k.Process == m.process && k.Point != job.KillAfter && !fired {
			s.Kills = append(s.Kills, k)
		}
	}
	s.Flips, s.Again, s.Ordered = ms.flips(m), ms.again(m), len(ms.config.Again) > 0 || s.Lag > 0
	if d := ms.recovery.decides; d != nil {
		s.Recovery, s.Next = true, d.Next()
		if s.Verify != nil {
			v := *s.Verify
			v.Backups = ms.recoveryConfig().First() > 0
			s.Verify = &v
		}
	}
	if f := ms.state.Opened; f != nil {
		if s.Files = f.Write; !s.Joiner && f.Restart != nil {
			s.Restart = f.Restart.Setup()
		}
	}
	msg := &job.Message{Kind: job.KindSetup, Setup: &s}
	if m.incarnation > firstIncarnation { // earlier verdicts do not concern a replacement; other replacements may have those slots now
		msg.Epoch = uint64(len(ms.state.Verdicts))
	}
	ms.send(m, msg)
	if m.role == Joiner {
		if m.again { // the process may have missed messages that were sent to all
			ms.tellAll(m)
		}
		ms.ready(m)
		return
	}
	ms.tellAll(m)
}

// ready checks whether processes can get their links now. A joiner gets its links once all
// live processes have reported where they listen. Agents repeat those reports to a successor.
func (ms *members) ready(m *member) {
	if m.ready() {
		ms.introduceArrived()
	}
	ms.startIfReady()
}

func (ms *members) introduceArrived() {
	if !ms.hasBegun || ms.phase == joining { // not before the others have begun
		return
	}
	var arrived []*member
	for _, m := range ms.all {
		switch {
		case m.role == First && m.state.there() && !m.ready():
			return
		case m.state == arriving && !m.arrived && m.ready() && m.ending == nil:
			arrived = append(arrived, m)
		}
	}
	for _, m := range arrived {
		m.arrived = true
		ms.recovery.happened(m, (*recovery.Head).Arrived)
	}
}

// startIfReady starts the job when every live process has joined. Replacements join later,
// through introduceArrived.
func (ms *members) startIfReady() {
	if ms.phase != joining || ms.unopened() || len(ms.all) == 0 {
		return
	}
	var first *member
	for _, m := range ms.all {
		switch {
		case m.native && (m.state == dead || m.state == ended):
			ms.refuse(fmt.Sprintf("%s has ended before all processes had joined MPI_COMM_WORLD, and the others would wait for it there", m.name()))
			return
		case m.state == dead, m.state == ended, m.role == Joiner, ms.late(m):
			continue
		case m.state == gone: // its verdict has not been sent yet
			return
		case !m.ready():
			return
		}
		if first == nil {
			first = m
		}
		if why := first.hello.Mismatch(m.hello); why != "" {
			ms.refuse(fmt.Sprintf("%s and %s are incompatible: %s", first.name(), m.name(), why))
			return
		}
	}
	if first == nil {
		return
	}
	if !first.hello.Tag && !ms.successor {
		ms.warnf("warning: the program was built without the intra tag, so its sections are not shared: build it with -tags intra")
	}
	ms.phase = working
	if ms.state.Started { // an earlier head has started the job, and not all processes know it
		ms.start()
		return
	}
	ms.propose(decision.Entry{Kind: decision.Started})
}

// start lets the processes begin.
func (ms *members) start() {
	if !ms.hasBegun {
		ms.hasBegun, ms.joinedAt = true, ms.now
	}
	ms.link()
	if mpi := ms.mpiSummary(); mpi != nil {
		ms.detailf("MPI: %s (%s), %s", mpi.Library, mpi.File, mpi.ThreadLevel)
	}
	ms.detailf("all have joined")
	ms.begun()
}

// link makes the links of all pairs of processes, except those over the network and those
// made at their first use, and sends each process its list of peers.
func (ms *members) link() {
	ms.shareMemory()
	peers := make(map[job.Process][]job.Peer)
	var all []*member
	for _, m := range ms.all {
		if m.role == First && m.state != dead && m.state != ended {
			all = append(all, m)
		}
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			kind := ms.linkKind(a, b)
			onUse := ms.onUse(a, b)
			peers[a.process] = append(peers[a.process], b.peer(kind, onUse))
			peers[b.process] = append(peers[b.process], a.peer(kind, onUse))
			if kind != job.LinkTCP && kind != job.LinkMPI && !onUse {
				ms.act(Link{Node: a.from.Node, Lower: a.from.ID, Higher: b.from.ID, Kind: kind, Ring: ms.config.Ring})
			}
		}
	}
	for _, m := range all {
		if m.state != gone {
			ms.send(m, &job.Message{Kind: job.KindStart, Peers: peers[m.process]})
		}
	}
}

func (ms *members) linkKind(a, b *member) string {
	switch {
	case a.native && b.native && !(ms.config.MPIBetween && a.from.Node == b.from.Node):
		return job.LinkMPI
	case a.from.Node == b.from.Node:
		return ms.config.Link
	}
	return job.LinkTCP
}

// onUse reports whether the agent makes the link between two processes when it is first used.
func (ms *members) onUse(a, b *member) bool {
	kind := ms.linkKind(a, b)
	return ms.config.OnUse && kind != job.LinkTCP && kind != job.LinkMPI && a.process.Rank != b.process.Rank
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
func (ms *members) shareMemory() {
	if ms.config.Direct == job.DirectOff {
		return
	}
	for rank, degree := range ms.config.Degrees {
		switch {
		case degree == 1, slices.Contains(ms.direct, rank):
		case ms.together(rank):
			ms.direct = append(ms.direct, rank)
		case ms.config.Direct == job.DirectOn:
			ms.warnf("-direct is for replicas on one host, and those of rank %d are not: they send each other their results", rank)
		}
	}
}

// together reports whether all replicas of a rank began on one host.
func (ms *members) together(rank int) bool {
	for replica := range ms.config.Degrees[rank] {
		if ms.config.Of[job.Process{Rank: rank, Replica: replica}] != ms.config.Of[job.Process{Rank: rank}] {
			return false
		}
	}
	return true
}

// warnMissing warns about processes that have not joined. The job does not end: a program may
// just be slow.
func (ms *members) warnMissing() {
	if ms.phase != joining {
		return
	}
	for _, m := range ms.all {
		if m.state == starting && m.hello == nil {
			ms.warnf("%s has not joined the job after %v: is it a program that calls intra.Main?", m.name(), joinWarning)
		}
	}
}

// refuse ends a job whose processes do not belong together.
func (ms *members) refuse(why string) {
	if ms.phase == over {
		return
	}
	for _, m := range ms.all {
		if m.state.there() {
			ms.send(m, &job.Message{Kind: job.KindRefuse, Text: why})
		}
	}
	ms.stop(ExitRefused, "the job is refused: "+why, byWord)
}

// flips returns the requested bit flips of a process. A replacement gets none.
func (ms *members) flips(m *member) (all []job.Flip) {
	for _, f := range ms.config.Flips {
		if f.Process == m.process && m.incarnation == firstIncarnation {
			all = append(all, f)
		}
	}
	return all
}

// again returns the requested runs from a safe point of a process. A replacement gets none.
func (ms *members) again(m *member) (all []job.Again) {
	for _, a := range ms.config.Again {
		if a.Process == m.process && m.incarnation == firstIncarnation {
			all = append(all, a)
		}
	}
	return all
}

// joinedWorld handles the report that a process is in MPI_COMM_WORLD, or cannot join it.
func (ms *members) joinedWorld(m *member, w *job.World) {
	if w.Error != "" {
		ms.refuse(fmt.Sprintf("%s cannot use MPI: %s", m.name(), w.Error))
		return
	}
	m.world = w
	ms.ready(m)
}

// mpiSummary describes the MPI library that the links use, nil if they use none.
func (ms *members) mpiSummary() *runreport.MPI {
	if !ms.config.Setup.MPI {
		return nil
	}
	s := &runreport.MPI{Outside: []runreport.Outsider{}}
	for _, m := range ms.all {
		switch {
		case m.world != nil:
			s.Library, s.File, s.ThreadLevel = m.world.Library, m.world.File, m.world.Level
		case !m.native && m.incarnation > firstIncarnation && m.hello != nil:
			s.Outside = append(s.Outside, runreport.Outsider{Process: m.process, Incarnation: m.incarnation})
		}
	}
	return s
}

// tellAll sends a process all verdicts. Its agent discards those that the process has
// received, and those from before it had its slot.
func (ms *members) tellAll(m *member) {
	for _, v := range ms.state.Verdicts {
		v = ms.explain(v)
		ms.send(m, &job.Message{Kind: job.KindVerdict, Verdict: &v.Verdict})
	}
}

// recoveryConfig returns the configuration of recovery.
func (ms *members) recoveryConfig() recovery.Config {
	c := recovery.Config{Degrees: ms.config.Degrees, Vacant: ms.vacancies(), Targets: ms.targets(), Leaver: ms.leaver, Needier: ms.needier, Dying: ms.dying, Start: ms.config.Replace, Spares: ms.spares(), Backup: ms.config.Backup,
		Host: func(p job.Process) string { return ms.places[p].node.Name }}
	if v := ms.config.Setup.Verify; v != nil {
		c.Compared, c.Suspect = v.State, v.Samples()
	}
	if f := ms.state.Opened; f != nil {
		if f.Restart != nil {
			c.From = f.Restart.Cut
		}
		if f.Write != nil {
			c.Files = recovery.Files{Every: ms.config.Checkpoint.Every, First: f.First}
		}
	}
	return c
}

// live makes a joiner live: it has received its state. It may have died since.
func (ms *members) live(m *member) {
	if m.role, m.relieves = First, false; m.state == arriving {
		m.to(running)
	}
}
