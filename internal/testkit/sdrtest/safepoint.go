package sdrtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// cutState is the state of a process in the protocol of the cuts.
type cutState struct {
	member      bool // the process communicates; a joiner does not yet
	incarnation uint32
	orders      []order
	words       []word
	safe        int       // number of safe points entered
	asked       uint64    // requested cut, until the process knows at which safe point it is
	cut         uint64    // number of the planned cut, or 0
	at          int       // safe point of that cut
	passed      bool      // the cut is complete
	latest      *start    // latest order of the head about where to begin
	back        *start    // a rollback that p has yet to carry out
	boarded     *start    // start of a new engine that was not reported to the head yet
	taken       *snapshot // snapshot of the program at the cut
	restored    []byte
}

var errRollback = errors.New("back to a cut")

// ordered reports whether p can receive an order now: it must have received the deaths that
// were reported before the order.
func (p *Process) ordered() bool {
	return len(p.cuts.orders) > 0 && p.cuts.orders[0].verdicts <= p.verdicts
}

func (p *Process) tell(w word) { p.cuts.words = append(p.cuts.words, w) }

// obey handles the next order.
func (p *Process) obey() {
	s := &p.cuts
	o := s.orders[0]
	s.orders = s.orders[1:]
	p.woken = true
	switch o.kind {
	case ask:
		s.asked = o.cut
		p.tell(word{kind: ask, cut: o.cut, count: p.again.most})
	case cutAt:
		s.asked, s.cut, s.at = 0, o.cut, o.at
	case cancel:
		if s.cut == o.cut {
			p.Engine.CancelCut()
		}
		s.asked, s.cut = 0, 0
	case goOn:
		p.passCut(o.joined)
	case rollBack:
		p.Engine.Abort(fmt.Errorf("incarnation %d: %w", o.back.incarnation, errRollback))
		s.asked, s.cut, s.passed, s.back = 0, 0, false, o.back
		p.finished = false
	}
}

// SafePoint is a place where cuts are taken. save returns the state with which the program
// can continue from here.
func (p *Process) SafePoint(save func() []byte) error {
	s := &p.cuts
	if p.Engine.Restored() {
		p.Engine.Resume()
	}
	s.safe++
	if s.safe <= p.again.most {
		return nil // p has passed this safe point before
	}
	p.again.most, p.again.inside = s.safe, true
	if err := p.atPoint(save); err != nil {
		return err
	}
	p.again.inside = false
	return nil
}

// atPoint does what is due at a safe point that p enters for the first time.
func (p *Process) atPoint(save func() []byte) error {
	s := &p.cuts
	if err := p.Engine.WaitFor(func() bool { return s.asked == 0 }, nil, nil); err != nil {
		return err
	}
	switch {
	case s.cut == 0 || s.at > s.safe:
		return p.settle(save)
	case s.at < s.safe:
		return fmt.Errorf("%v is past safe point %d of cut %d", p, s.at, s.cut)
	}
	cut := s.cut
	p.Reach(AtCut)
	if !p.again.ordered {
		p.again.points = nil
	}
	err := p.Engine.Drain(context.Background(), cut)
	if errors.Is(err, sdr.ErrCancelled) {
		return nil
	}
	if err != nil {
		return err
	}
	p.Reach(AtCut)
	taken, err := p.snapshot(save)
	if err != nil {
		return err
	}
	p.tell(word{kind: cutAt, cut: cut, taken: taken})
	p.Reach(AtCut)
	s.taken = taken
	if err := p.leave(cut); err != nil {
		return err
	}
	return p.settle(save)
}

// leave waits until the cut is complete, or cancelled.
func (p *Process) leave(cut uint64) error {
	s := &p.cuts
	err := p.Engine.WaitFor(func() bool { return s.passed || s.cut != cut }, nil, nil)
	if err == nil && s.passed {
		s.passed = false
		p.Reach(AtCut)
	}
	return err
}

func (p *Process) snapshot(save func() []byte) (*snapshot, error) {
	pos, err := p.Engine.Position()
	if err != nil {
		return nil, err
	}
	b, err := pos.MarshalBinary()
	return &snapshot{safe: p.cuts.safe, position: b, state: save(), record: p.Record.atCut()}, err
}

// passCut ends the cut, after the deaths that were reported before the end of the cut, and before
// later deaths. It checks that the position has not changed since the process had all messages, and
// that the engine keeps only messages that links have not handed over yet.
func (p *Process) passCut(joined []sdr.Joiner) {
	s, wrong := &p.cuts, &p.job.head.err
	if p.pass(AtCut) {
		if p.job.kill(p, AtCut); p.Killed {
			return
		}
	}
	if taken := s.taken; taken != nil {
		again, err := p.snapshot(func() []byte { return nil })
		if err != nil || !bytes.Equal(taken.position, again.position) {
			*wrong = fmt.Errorf("the position of %v at cut %d changed before the end of the cut: %v", p, s.cut, err)
		}
	}
	s.passed, s.cut, s.taken = true, 0, nil
	if r := p.Record; r != nil {
		r.base = maps.Clone(r.given)
	}
	err := p.Engine.Cut(joined...)
	if p.Killed { // died while sending an acknowledgement, so its links hold nothing
		return
	}
	if err != nil {
		*wrong = fmt.Errorf("%v: %w", p, err)
		return
	}
	kept, _ := p.Engine.Retained()
	for _, l := range p.job.order {
		if l.From == End(p) {
			kept -= l.Waiting()
		}
	}
	if kept > 0 {
		*wrong = fmt.Errorf("%v keeps %d messages of before the cut:\n%s", p, kept, p.Engine.Describe())
	}
}

// State returns the result of save at the safe point at which p began, or nil if p began at
// the start.
func (p *Process) State() []byte { return p.cuts.restored }

// serve runs the program, and runs it again after every rollback.
func (p *Process) serve(program func(p *Process) error) {
	for {
		err := p.enter()
		if err == nil {
			err = program(p)
		}
		if p.again.ordered && !p.Killed && p.cuts.back == nil && (err == nil || errors.Is(err, errAgain)) {
			if err = p.runAgain(); err == nil {
				continue
			}
		}
		if err == nil {
			p.again.points = nil
			p.tell(word{kind: cancel})
			err = p.Engine.Drained(context.Background())
		}
		if err == nil {
			p.finished = true
			if p.Wait(context.Background(), func() bool { return p.cuts.back != nil }) != nil {
				return // the run is over
			}
		}
		if p.Killed {
			return
		}
		if p.cuts.back != nil && (err == nil || errors.Is(err, errRollback) || errors.Is(err, errAgain)) {
			continue
		}
		p.Err, p.finished = err, true
		return
	}
}

// enter waits, in a process that begins at a cut, for the order to continue. After a
// rollback it makes a new engine first.
func (p *Process) enter() error {
	s := &p.cuts
	if s.back != nil {
		if err := p.Engine.Released(context.Background()); err != nil {
			return err
		}
		p.startAt(s.back)
	}
	if s.boarded == nil {
		return nil
	}
	begin := s.boarded
	s.boarded = nil
	p.Reach(AtCut)
	p.tell(word{kind: goOn, back: begin})
	return p.leave(s.cut)
}

// startAt makes the engine of a process that begins at a cut.
func (p *Process) startAt(at *start) {
	var pos sdr.Position
	if err := pos.UnmarshalBinary(at.from.position); err != nil {
		panic(err)
	}
	s := &p.cuts
	s.back, s.boarded, s.taken = nil, at, nil
	s.incarnation, s.safe, s.restored = at.incarnation, at.from.safe-1, at.from.state
	p.again.most, p.again.points, p.again.ordered, p.again.inside = s.safe, nil, false, false
	p.Record = at.from.record.atCut()
	cfg := p.config()
	cfg.Peers = func(rank, replica int) (uint32, bool) {
		for _, q := range at.roster {
			if q.Rank != rank || q.Replica != replica {
				continue
			}
			alive := !slices.Contains(p.job.dead[:p.verdicts], q)
			if at.join {
				return q.cuts.incarnation, alive
			}
			return at.incarnation, alive
		}
		return 0, false
	}
	var err error
	if p.Engine, err = sdr.NewEngineAt(cfg, &pos); err != nil {
		panic(err)
	}
}

// joiner starts a process that begins at a cut. The process reports to the head once it has
// an engine.
func (r *run) joiner(rank, replica int, at *start) *Process {
	p := &Process{Rank: rank, Replica: replica, job: r, woken: true, verdicts: len(r.dead)}
	p.steps = [...]func(){stepRun: p.run, stepDeath: p.receiveDeath, stepExpire: p.expire}
	p.cuts.latest = at
	r.processes = append(r.processes, p)
	p.start(r.program)
	return p
}

// inbox passes the frames of a link to the current engine of a process.
type inbox struct {
	to            *Process
	rank, replica int
}

func (i *inbox) receiver() transport.Receiver      { return i.to.Engine.Receiver(i.rank, i.replica) }
func (i *inbox) Begin(h *transport.Header) []byte  { return i.receiver().Begin(h) }
func (i *inbox) End(h *transport.Header, b []byte) { i.receiver().End(h, b) }
func (i *inbox) Torn(h *transport.Header, n int)   { i.receiver().Torn(h, n) }
func (i *inbox) Lost(h *transport.Header)          { i.receiver().Lost(h) }
func (i *inbox) Closed(err error)                  { i.receiver().Closed(err) }
