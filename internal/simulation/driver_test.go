package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// driver carries out what the state machines of a process ask for, as package
// runtime does. Where that gives up its lock, it pauses.
type driver struct {
	settling    bool
	changes     uint64
	err         error // sections fail with it
	incarnation uint32
	lives       map[job.Process]uint32

	msgs    *sdr.Engine
	machine *section.Machine
	member  *recovery.Member
	slots   recovery.Slots[stateCopy]
	program *program
	open    *opened // section
	pending int     // frames whose memory is the program's
	filling int     // updates that are being received into it

	life      context.Context // ends when the job goes back
	endLife   context.CancelCauseFunc
	stopDrain context.CancelFunc
	image     [][]byte  // with which this life begins
	startAt   *position // where; nil: at the beginning of the job
	cutAt     *position // of the cut in which newcomers were admitted
	outbound  map[job.Process]*outbound
	inbound   map[*process]*inbound
	packets   map[*process]uint64
	back      recovery.Return[stateCopy]
	writing   []*file
	passed    uint64 // safe points
	drained   bool   // all that it has sent is handed over, and it has said so
}

// position is where a rank stands at a cut, beside its state.
type position struct {
	section  section.Position
	point    uint64
	live     map[job.Process]uint32 // for a newcomer
	messages []byte
}

var (
	errBack      = errors.New("the job goes back")
	errDismissed = errors.New("not needed any more")
)

func newDriver(p *process) driver {
	d := driver{incarnation: p.birth, lives: make(map[job.Process]uint32), outbound: make(map[job.Process]*outbound),
		inbound: make(map[*process]*inbound),
		machine: section.New(section.Config{Replica: p.self.Replica, Replicas: p.w.spec.degrees[p.self.Rank], InboxBytes: p.w.spec.inbox}),
		member:  recovery.NewMember(p.self, 0, p.w.head.next())}
	d.life, d.endLife = context.WithCancelCause(context.Background())
	if !p.newcomer {
		for _, q := range job.Processes(p.w.spec.degrees) {
			d.lives[q] = firstLife
		}
	}
	return d
}

// begin makes the engine of a process that starts with the job.
func (p *process) begin() {
	from := p.w.spec.restart
	if from == nil {
		p.msgs = sdr.NewEngine(p.messaging())
		return
	}
	f := from.files[p.self.Rank]
	p.image, p.startAt = f.image, f.at
	if err := p.resumeAt(f.at); err != nil {
		p.w.fail("%v: %v", p, err)
		return
	}
	if err := p.msgs.Cut(); err != nil {
		p.w.fail("%v: %v", p, err)
	}
}

// live is the life of the process in the job.
func (p *process) live() {
	var err error
	if p.newcomer {
		if err = p.join(); errors.Is(err, errDismissed) {
			p.left = true
			return
		}
	}
	for {
		if err == nil {
			err = p.runProgram()
		}
		if err == nil {
			err = p.Wait(context.Background(), func() bool { return len(p.writing) == 0 })
		}
		if err == nil {
			p.say(word{finished: true})
			if err = p.linger(); err == nil {
				p.left = true
				return
			}
		}
		if !p.back.Pending() {
			p.w.fail("%v: %v", p, err)
			return
		}
		if err = p.goBack(); err != nil {
			p.w.fail("%v goes back: %v", p, err)
			return
		}
	}
}

// runProgram runs the program, which may end with errBack or errors of aborted
// calls, and tells the other replicas that nothing more comes.
func (p *process) runProgram() error {
	g, err := p.newProgram()
	if err == nil {
		err = g.run()
	}
	if err != nil {
		return err
	}
	if p.back.Pending() {
		return errBack
	}
	if p.err != nil {
		return p.err
	}
	for k := range p.replicas() {
		p.post(k, update.Message{Kind: update.KindBye, Section: p.machine.Number()}, nil)
	}
	return nil
}

// linger serves the others until the head releases this process or the job
// goes back.
func (p *process) linger() error {
	msgs, told := p.msgs, false
	for {
		seen := p.changes
		if p.released {
			return nil
		}
		if p.back.Pending() {
			return errBack
		}
		if !told && msgs.HandedOver() {
			told, p.drained = true, true
			p.say(word{drained: true})
		}
		if err := p.Wait(context.Background(), func() bool { return p.changes != seen || !told && msgs.HandedOver() }); err != nil {
			return err
		}
	}
}

func (p *process) changed() {
	p.changes++
	p.Wake()
}

// waitChange waits until something has changed since seen.
func (p *process) waitChange(seen uint64) error {
	p.pause()
	return p.Wait(p.life, func() bool { return p.changes != seen })
}

// replicas are the other live replicas of the rank.
func (p *process) replicas() []int {
	var all []int
	for k := range p.w.spec.degrees[p.self.Rank] {
		q := job.Process{Rank: p.self.Rank, Replica: k}
		if _, live := p.lives[q]; live && q != p.self {
			all = append(all, k)
		}
	}
	return all
}

// safePoint does what is due at a safe point of the program.
func (p *process) safePoint(point uint64) error {
	p.member.Enter(point)
	for {
		seen := p.changes
		if p.err != nil {
			return p.err
		}
		step := p.member.Next()
		if step.Kind == recovery.Pass {
			p.program.due = p.member.Due()
			return nil
		}
		if err := p.step(step, seen); err != nil {
			return err
		}
	}
}

// step does one thing in a safe point.
func (p *process) step(s recovery.Step, seen uint64) error {
	switch s.Kind {
	case recovery.Wait:
		return p.waitChange(seen)
	case recovery.Drain:
		return p.drain(s.Number)
	case recovery.Donate:
		return p.donate(s.Process)
	case recovery.Transfer:
		return p.transfer(s.Process)
	case recovery.Admit:
		return p.admit(s.Joined)
	case recovery.Copy:
		return p.copyState(s.Number, s.Process)
	case recovery.Save:
		return p.save(s.Number, s.Set)
	case recovery.Leave:
		p.pause()
		if len(s.Joined) == 0 {
			if err := p.endCut(); err != nil {
				return err
			}
		}
		p.reach("go")
		return nil
	case recovery.GiveUp:
		p.pause()
		p.msgs.CancelCut()
		p.pause()
		return nil
	case recovery.Back:
		return errBack
	}
	return fmt.Errorf("unknown step %d", s.Kind)
}

// endCut ends the cut: nothing of before it may be kept for anybody then.
func (p *process) endCut(joined ...sdr.Newcomer) error {
	if err := p.msgs.Cut(joined...); err != nil {
		return err
	}
	kept, _ := p.msgs.Retained()
	for _, l := range p.w.order {
		if l.From == p {
			kept -= l.Waiting()
		}
	}
	if kept > 0 && p.msgs.Failure() == nil {
		p.w.fail("%v keeps %d messages of before the cut:\n%s", p, kept, p.msgs.Describe())
	}
	return nil
}

// drain gets everything that was sent before the cut.
func (p *process) drain(number uint64) error {
	ctx, stop := context.WithCancel(p.life)
	defer stop()
	p.stopDrain, p.cutAt = stop, nil
	p.pause()
	err := p.msgs.Drain(ctx, number)
	if err == nil {
		p.reach("drain")
	}
	p.pause()
	p.stopDrain = nil
	if err != nil && (!p.member.Cancelled() || !errors.Is(err, context.Canceled) && !errors.Is(err, sdr.ErrCancelled) && !errors.Is(err, errBack)) {
		return err
	}
	p.reply(p.member.Drained()...)
	return nil
}

// order does what the head wants.
func (p *process) order(o job.Order) {
	w := p.w
	w.seen["order "+string(o.Kind)]++
	if o.Kind == job.OrderGo {
		p.obeyed = o.Number
	}
	if o.Kind == job.OrderAsk && !p.at("ask") || o.Kind == job.OrderComplete && !p.at("complete") {
		return
	}
	var points uint64
	if p.startAt != nil { // its safe point passes the head by
		points = p.startAt.point
	}
	if g := p.program; g != nil {
		g.due = true
		points = max(points, g.points)
	}
	if o.Kind == job.OrderRollback && p.back.Pending() {
		w.seen["a rollback overtakes another"]++
	}
	replies := p.member.Order(o, points)
	p.back.Order(o)
	if g := p.program; g != nil {
		g.due = p.member.Due()
	}
	switch o.Kind {
	case job.OrderDonate:
		p.outbound[o.Process] = &outbound{to: p.wires[o.Process], generation: p.member.Generation()}
	case job.OrderCancel:
		if p.stopDrain != nil {
			p.stopDrain()
		}
	case job.OrderComplete:
		p.slots.Complete(o.Number)
	case job.OrderRenew:
		s, ok := p.slots.Get(o.Rank, o.Number)
		if ok {
			p.giveTo(s, o.Process, label{errand: errandBackup, rank: o.Rank, number: o.Number}, "backup send")
		} else {
			w.fail("%v does not hold the backup %d of rank %d that it is to give away", p, o.Number, o.Rank)
		}
	case job.OrderRollback:
		p.rollback(o)
	case job.OrderResume:
		p.member = recovery.NewMember(p.self, o.Generation, o.Next)
	}
	p.reply(replies...)
	p.changed()
}

// position returns where this rank stands at the cut.
func (p *process) position(number uint64) (*position, error) {
	at, err := p.msgs.Position()
	if err != nil {
		return nil, fmt.Errorf("safe point %d: %w", number, err)
	}
	messages, err := at.MarshalBinary()
	return &position{section: p.machine.Position(), point: number, messages: messages}, err
}

// positionInCut is that in the cut that p is in.
func (p *process) positionInCut(number uint64) (*position, error) {
	if p.cutAt != nil {
		return p.cutAt, nil
	}
	return p.position(number)
}

// admit makes newcomers live.
func (p *process) admit(joined []job.Peer) error {
	if p.program != nil {
		var err error
		if p.cutAt, err = p.position(p.program.points); err != nil {
			return err
		}
	}
	var newcomers []sdr.Newcomer
	for _, q := range joined {
		newcomers = append(newcomers, sdr.Newcomer{Rank: q.Process.Rank, Replica: q.Process.Replica, Incarnation: q.Incarnation})
		p.lives[q.Process] = q.Incarnation
		if q.Process.Rank == p.self.Rank && q.Process != p.self {
			p.machine.Alive(q.Process.Replica)
		}
	}
	p.pause()
	if err := p.endCut(newcomers...); err != nil {
		return err
	}
	for _, q := range joined {
		if at := p.wires[q.Process]; q.Process != p.self && (at == nil || at.birth != q.Incarnation) {
			p.died(q.Process, q.Incarnation)
		}
	}
	p.reach("admit")
	p.pause()
	p.reply(p.member.Admitted()...)
	return nil
}

// join waits until this newcomer has its state and is admitted, or takes part
// in a rollback, which is told by errBack.
func (p *process) join() error {
	for {
		seen := p.changes
		if p.released {
			return errDismissed
		}
		step := p.member.Next()
		switch step.Kind {
		case recovery.Pass: // has no state yet
			step.Kind = recovery.Wait
		case recovery.Admit:
			if err := p.takePlace(); err != nil {
				return err
			}
		case recovery.Leave:
			p.reach("go")
			return nil
		}
		if err := p.step(step, seen); err != nil {
			if p.back.Pending() {
				return errBack
			}
			return err
		}
	}
}

// takePlace makes the engines of this newcomer where its rank stands.
func (p *process) takePlace() error {
	p.lives = make(map[job.Process]uint32)
	for q, life := range p.startAt.live {
		if p.linked(q, life) {
			p.lives[q] = life
		}
	}
	return p.resumeAt(p.startAt)
}

// linked reports whether there is a link to the process that lives in that
// incarnation. One that comes after it begins in a higher one.
func (p *process) linked(q job.Process, life uint32) bool {
	at := p.wires[q]
	return at != nil && at.birth <= life
}

// resumeAt makes the engines stand where the rank stood at a cut.
func (p *process) resumeAt(at *position) error {
	p.machine = section.NewAt(section.Config{Replica: p.self.Replica, Replicas: p.w.spec.degrees[p.self.Rank], InboxBytes: p.w.spec.inbox}, at.section)
	p.open, p.err = nil, nil
	for _, k := range p.replicas() {
		p.machine.Alive(k)
	}
	var messages sdr.Position
	if err := messages.UnmarshalBinary(slices.Clone(at.messages)); err != nil {
		return err
	}
	cfg := p.messaging()
	cfg.Peers = func(rank, replica int) (uint32, bool) {
		life, ok := p.lives[job.Process{Rank: rank, Replica: replica}]
		return life, ok
	}
	var err error
	if p.msgs, err = sdr.NewEngineAt(cfg, &messages); err != nil {
		return fmt.Errorf("begin at safe point %d: %w", at.point, err)
	}
	return nil
}
