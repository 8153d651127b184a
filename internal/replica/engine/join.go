package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// aheadBytes bounds how much a donor copies at one safe point ahead of the cut, because
// copying delays the program. The transfer does not.
const aheadBytes = 64 << 20

// stateFor returns the outbound state for a joiner, nil if the joiner has died. If all of
// it was already sent, the transfer starts over: a new head, which has not received the report
// that all was sent, may order it again.
func (r *recovering) stateFor(p job.Process) *outbound {
	var link transport.Link
	if l := r.peerLinks.joiner(p); l != nil {
		link = l.Link
	}
	if out := r.outbound[p]; out != nil || link == nil {
		return out
	}
	r.streams++
	out := &outbound{
		id:   transferID{kind: transferJoin, stream: r.streams, generation: r.member.Generation(), rank: r.setup.Self.Rank},
		link: link, poller: r.poller,
	}
	r.outbound[p] = out
	return out
}

// donate copies part of the state to a joiner ahead of the cut, once the copy of the
// previous safe point has been sent.
func (r *recovering) donate(p job.Process, yield func(func())) error {
	out := r.stateFor(p)
	if out == nil || out.moving.Load() > 0 {
		return nil
	}
	im, err := r.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	all := false
	yield(func() {
		out.begin(im.Bytes())
		all = out.sent.Ahead(im, aheadBytes, func(k checkpoint.Key, c []byte) {
			out.send(frameChunk, k, slices.Clone(c))
			r.faults.StepHere(job.KillJoin, "copy")
		})
	})
	r.reply(r.member.Donated(p, all))
	return nil
}

// transfer sends a joiner, inside the cut, the rest of the state and the position.
func (r *recovering) transfer(p job.Process, yield func(func())) error {
	out := r.stateFor(p)
	delete(r.outbound, p)
	defer r.member.Transferred(p)
	if out == nil {
		return nil // the joiner has died
	}
	im, err := r.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	number := r.program.points.Load()
	at, err := r.position(number)
	if err != nil {
		return err
	}
	for q, incarnation := range r.incarnations {
		at.Live = append(at.Live, job.Peer{Process: q, Incarnation: incarnation})
	}
	encoded, err := at.append(nil)
	if err != nil {
		return err
	}
	out.id.number, out.id.generation = number, r.member.Generation()
	defer r.traceState(out.id, p, im.Bytes())()
	yield(func() {
		out.all(im, encoded, func() { r.faults.StepHere(job.KillJoin, "state") })
		// The frames refer to the memory of the program, so wait until they are sent.
		err = r.ended(r.poller.Wait(r.runCtx, func() bool { return out.moving.Load() == 0 }))
	})
	return err
}

// admit makes joiners live. A joiner that has already died becomes live and dies here at
// once, so that all replicas count the same deaths.
func (r *recovering) admit(joined []job.Peer, yield func(func())) error {
	if r.setup.Next > 0 && r.program != nil { // a backup may be taken in this cut, too
		var err error
		if r.cutAt, err = r.position(r.program.points.Load()); err != nil {
			return err
		}
	}
	var joiners []sdr.Joiner
	for _, p := range joined {
		joiners = append(joiners, sdr.Joiner{Rank: p.Process.Rank, Replica: p.Process.Replica, Incarnation: p.Incarnation})
		r.incarnations[p.Process] = p.Incarnation
		if p.Process.Rank == r.setup.Self.Rank && p.Process != r.setup.Self {
			r.sharing.admit(p.Process)
			if r.program != nil { // this process is a joiner itself
				r.restoredAt(p.Process, r.program.points.Load())
			}
		}
	}
	var err error
	yield(func() { err = r.messages.Load().Cut(joiners...) })
	if err != nil {
		return err
	}
	for _, p := range joined {
		if p.Process != r.setup.Self && r.peerLinks.get(p.Process, p.Incarnation) == nil {
			yield(func() { r.bury(p.Process) })
		}
	}
	yield(func() { r.faults.StepHere(job.KillJoin, "admit") })
	r.reply(r.member.Admitted())
	return nil
}

// errDismissed means that the job ended without needing this joiner.
var errDismissed = errors.New("not needed any more")

// join waits until this joiner has its state and is admitted. It returns errBack if the
// joiner takes part in a rollback instead.
func (r *recovering) join(released <-chan struct{}) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		seen := r.changes.Load()
		select {
		case <-released:
			return errDismissed
		default:
		}
		if r.err != nil {
			return r.err
		}
		step := r.member.Next()
		switch step.Kind {
		case recovery.Pass: // no state has arrived yet
			step.Kind = recovery.Wait
		case recovery.Admit:
			if err := r.takePlace(); err != nil {
				return err
			}
		case recovery.Leave:
			r.oldest = step.Oldest
			r.unlocked(func() { r.faults.StepHere(job.KillJoin, "go") })
			return nil
		}
		if err := r.step(step, seen, r.yield); err != nil {
			return err
		}
	}
}

// arrived handles a complete state. A link calls it.
func (r *recovering) arrived(l transferID, s stateCopy) {
	at, err := parsePosition(s.at)
	if err != nil || at.messages.Rank() != l.rank || at.messages.Size() != len(r.setup.Degrees) || at.Point != l.number {
		r.broken(fmt.Errorf("the state of rank %d at %d: %w", l.rank, l.number, errors.Join(errPosition, err)))
		return
	}
	var replies []job.Reply
	r.mu.Lock()
	switch {
	case l.kind == transferBackup:
		replies = r.store(l, s)
	case l.kind == transferBack:
		r.back.Given(l.generation, s)
	case r.setup.Joiner && l.rank == r.setup.Self.Rank && r.messages.Load() == nil && r.member.Takes(l.generation, l.number):
		r.image, r.startAt = s.image, at
		r.member = recovery.NewJoiner(r.setup.Self, l.generation, l.number)
		replies = r.member.Joined()
		replies[0].Bytes = int64(s.image.Bytes())
	}
	r.mu.Unlock()
	if l.kind == transferJoin {
		r.faults.Step(job.KillJoin, "joined")
	} else if l.kind == transferBackup {
		r.faults.Step(job.KillBackup, "stored")
	}
	r.reply(replies)
	r.changed()
}

// takePlace sets this joiner to the position of its rank.
func (r *recovering) takePlace() error {
	r.joins = true
	r.incarnations = make(map[job.Process]uint32)
	for _, p := range r.startAt.Live {
		switch {
		case r.linked(p):
			r.incarnations[p.Process] = p.Incarnation
		case p.Process.Rank == r.setup.Self.Rank: // it has died since the donor made the list
			r.startAt.Section.Deaths++
		}
	}
	return r.resumeAt(r.startAt, r.member.Generation())
}

// resumeAt sets sections and messages to the position of the rank at a cut, in a
// generation. The live peers are those in incarnations.
func (r *recovering) resumeAt(at *rankPosition, generation uint32) error {
	r.sharing.resumeAt(at.Section, generation)
	if v := r.sharing.verifier; v != nil {
		v.horizon.Back(at.Point)
	}
	cfg := r.sharing.messaging()
	cfg.Peers = func(rank, replica int) (uint32, bool) {
		incarnation, ok := r.incarnations[job.Process{Rank: rank, Replica: replica}]
		return incarnation, ok
	}
	messages, err := sdr.NewEngineAt(cfg, at.messages)
	if err != nil {
		return fmt.Errorf("begin at safe point %d: %w", at.Point, err)
	}
	r.messages.Store(messages)
	r.restoredAt(r.setup.Self, at.Point)
	return nil
}

// restoredAt records that a replica of this rank began with saved state.
func (r *recovering) restoredAt(p job.Process, point uint64) {
	r.restored = append(r.restored, fmt.Sprintf("%v was restored at safe point %d", p, point))
}
