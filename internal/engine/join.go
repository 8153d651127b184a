package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// aheadBytes bounds what a donor copies at one safe point ahead of the cut: the
// copy holds the program up, the transfer does not.
const aheadBytes = 64 << 20

// donate copies some state to a joiner ahead of the cut. What was copied at
// the safe point before has to have left.
func (e *Engine) donate(p job.Process) error {
	out := e.outbound[p]
	if out == nil || out.moving.Load() > 0 {
		return nil
	}
	im, err := e.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	all, bytes := true, 0
	e.unlocked(func() {
		out.begin()
		for k, c := range out.sent.Changed(im) {
			out.send(frameChunk, k, slices.Clone(c))
			e.kills.stepHere(job.KillJoin, "copy")
			if bytes += len(c); bytes >= aheadBytes {
				all = false
				break
			}
		}
	})
	e.reply(e.member.Donated(p, all))
	return nil
}

// transfer gives a joiner what it lacks, and the position, in the cut.
func (e *Engine) transfer(p job.Process) error {
	out := e.outbound[p]
	delete(e.outbound, p)
	defer e.member.Transferred(p)
	if out == nil {
		return nil // it has died
	}
	im, err := e.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	number := e.program.points.Load()
	at, err := e.position(number)
	if err != nil {
		return err
	}
	for q, incarnation := range e.incarnations {
		at.Live = append(at.Live, job.Peer{Process: q, Incarnation: incarnation})
	}
	encoded, err := at.append(nil)
	if err != nil {
		return err
	}
	out.id.number, out.id.generation = number, e.member.Generation()
	e.unlocked(func() {
		out.all(im, encoded, func() { e.kills.stepHere(job.KillJoin, "state") })
		// The frames hold the program's memory.
		err = e.ended(e.poller.Wait(e.life, func() bool { return out.moving.Load() == 0 }))
	})
	return err
}

// admit makes joiners live. One that is known to have died since lives and
// dies here at once, so that all replicas count the same deaths.
func (e *Engine) admit(joined []job.Peer) error {
	if e.setup.Next > 0 && e.program != nil { // a backup may be taken in this cut too
		var err error
		if e.cutAt, err = e.position(e.program.points.Load()); err != nil {
			return err
		}
	}
	var joiners []sdr.Newcomer
	for _, p := range joined {
		joiners = append(joiners, sdr.Newcomer{Rank: p.Process.Rank, Replica: p.Process.Replica, Incarnation: p.Incarnation})
		e.incarnations[p.Process] = p.Incarnation
		if p.Process.Rank == e.setup.Self.Rank && p.Process != e.setup.Self {
			e.machine.Alive(p.Process.Replica)
			e.once.Alive(p.Process.Replica)
			e.peers[p.Process.Replica] = e.linkTo(p.Process)
			// Whether sharing pays has to be found out again, by all replicas
			// at the same time.
			e.decisions = decisions{of: newDecisions().of, never: e.decisions.never}
		}
	}
	var err error
	e.unlocked(func() { err = e.msgs.Load().Cut(joiners...) })
	if err != nil {
		return err
	}
	for _, p := range joined {
		if p.Process != e.setup.Self && e.peerLinks.get(p.Process, p.Incarnation) == nil {
			e.unlocked(func() { e.dead(p.Process, p.Incarnation) })
		}
	}
	e.unlocked(func() { e.kills.stepHere(job.KillJoin, "admit") })
	e.reply(e.member.Admitted())
	return nil
}

// errDismissed: the job ended without need of this joiner.
var errDismissed = errors.New("not needed any more")

// join waits until this joiner has its state and is admitted, or takes part
// in a rollback, which is told by errBack.
func (e *Engine) join(released <-chan struct{}) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		seen := e.changes.Load()
		select {
		case <-released:
			return errDismissed
		default:
		}
		if e.err != nil {
			return e.err
		}
		step := e.member.Next()
		switch step.Kind {
		case recovery.Pass: // has no state yet
			step.Kind = recovery.Wait
		case recovery.Admit:
			if err := e.takePlace(); err != nil {
				return err
			}
		case recovery.Leave:
			e.unlocked(func() { e.kills.stepHere(job.KillJoin, "go") })
			return nil
		}
		if err := e.step(step, seen); err != nil {
			return err
		}
	}
}

// arrived takes a whole state. It is called by the link.
func (e *Engine) arrived(l transferID, s stateCopy) {
	at, err := parsePosition(s.at)
	if err != nil || at.messages.Rank() != l.rank || at.messages.Size() != len(e.setup.Degrees) || at.Point != l.number {
		e.broken(fmt.Errorf("the state of rank %d at %d: %w", l.rank, l.number, errors.Join(errPosition, err)))
		return
	}
	var replies []job.Reply
	e.mu.Lock()
	switch {
	case l.kind == transferBackup:
		replies = e.store(l, s)
	case l.kind == transferBack:
		e.back.Given(l.generation, s)
	case e.setup.Joiner && l.rank == e.setup.Self.Rank && e.msgs.Load() == nil && e.member.Takes(l.generation, l.number):
		e.image, e.startAt = s.image, at
		e.member = recovery.NewJoiner(e.setup.Self, l.generation, l.number)
		replies = e.member.Joined()
		replies[0].Bytes = int64(s.image.Bytes())
	}
	e.mu.Unlock()
	if l.kind == transferJoin {
		e.kills.step(job.KillJoin, "joined")
	} else if l.kind == transferBackup {
		e.kills.step(job.KillBackup, "stored")
	}
	e.reply(replies)
	e.changed()
}

// takePlace makes the engines of this joiner where its rank stands.
func (e *Engine) takePlace() error {
	e.incarnations = make(map[job.Process]uint32)
	for _, p := range e.startAt.Live {
		switch {
		case e.linked(p):
			e.incarnations[p.Process] = p.Incarnation
		case p.Process.Rank == e.setup.Self.Rank: // it has died since the donor looked
			e.startAt.Section.Deaths++
		}
	}
	return e.resumeAt(e.startAt)
}

// resumeAt makes the engines stand where the rank stood at a cut, with those
// peers that e.incarnations names.
func (e *Engine) resumeAt(at *rankPosition) error {
	self := e.setup.Self
	replicas := len(e.peers)
	e.machine = section.NewAt(section.Config{Replica: self.Replica, Replicas: replicas, InboxBytes: inboxBytes}, at.Section)
	e.stats.total.Before = int64(at.Section.Number) - e.stats.total.Sections
	e.once = section.NewOnceAt(self.Replica, replicas, at.Section)
	e.decisions = decisions{of: newDecisions().of, never: e.decisions.never}
	e.open, e.onceRun, e.err, e.finished = nil, false, nil, false
	for replica := range e.peers {
		p := job.Process{Rank: self.Rank, Replica: replica}
		e.peers[replica] = nil
		if _, live := e.incarnations[p]; live && p != self {
			_, e.peers[replica] = e.peer(p)
			e.machine.Alive(replica)
			e.once.Alive(replica)
		}
	}
	cfg := e.messaging()
	cfg.Peers = func(rank, replica int) (uint32, bool) {
		incarnation, ok := e.incarnations[job.Process{Rank: rank, Replica: replica}]
		return incarnation, ok
	}
	msgs, err := sdr.NewEngineAt(cfg, at.messages)
	if err != nil {
		return fmt.Errorf("begin at safe point %d: %w", at.Point, err)
	}
	e.msgs.Store(msgs)
	return nil
}

// linked reports whether there is a link to the process that lives in that
// incarnation. One that comes after it begins in a higher one.
func (e *Engine) linked(p job.Peer) bool {
	incarnation, link := e.peer(p.Process)
	return link != nil && incarnation <= p.Incarnation
}

// connect takes the link to a joiner.
func (e *Engine) connect(c job.Connected) {
	if !e.peerLinks.set(c.Process, &peerLink{link: c.Link, incarnation: c.Incarnation}) {
		_ = c.Link.Close() // nobody will use it
		return
	}
	c.Link.Start(&receiver{e: e, from: c.Process, incarnation: c.Incarnation})
	e.poller.Add(c.Link)
	e.head.Reply(job.Reply{Kind: job.ReplyLinked, Process: c.Process, Incarnation: c.Incarnation})
}

// linkTo returns the link to a process, nil if it is dead.
func (e *Engine) linkTo(p job.Process) transport.Link {
	_, link := e.peer(p)
	return link
}
