package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// driver carries out the actions of the state machines of a process, as package engine
// does. It pauses where package engine releases its lock.
type driver struct {
	settling    bool
	changes     uint64
	err         error // sections fail with this error
	incarnation uint32
	lives       map[job.Process]uint32

	msgs    *sdr.Engine
	machine *section.Machine
	once    onceCalls
	member  *recovery.Member
	slots   recovery.Slots[stateCopy]
	program *program
	open    *opened // the open section
	pending int     // number of frames that refer to the program's memory
	filling int     // number of updates that are being received into the program's memory
	retired bool    // the process rolls back: no update is received into the program's memory

	life      context.Context // ends when the job rolls back
	endLife   context.CancelCauseFunc
	stopDrain context.CancelFunc
	image     [][]byte  // state with which this life begins
	startAt   *position // position at which this life begins; nil: the beginning of the job
	joined    bool      // the other processes do not begin at that position, too
	cutAt     *position // position of the cut in which joiners were admitted
	outbound  map[job.Process]*outbound
	inbound   map[*process]*inbound
	back      recovery.Return[stateCopy]
	memory    []uint64 // memory of the program, in all its lives
	writing   []*file
	passed    uint64 // number of safe points passed
	drained   bool   // the links have taken all frames of this process, and the process has reported that
}

// position is the position of a rank at a cut, without its state.
type position struct {
	section  section.Position
	point    uint64
	live     map[job.Process]uint32 // live processes, for a joiner
	messages []byte
}

var (
	errBack      = errors.New("the job goes back")
	errDismissed = errors.New("not needed any more")
)

func newDriver(p *process, next uint64) driver {
	d := driver{incarnation: p.birth, lives: make(map[job.Process]uint32), outbound: make(map[job.Process]*outbound),
		inbound: make(map[*process]*inbound),
		machine: section.New(section.Config{Replica: p.self.Replica, Replicas: p.w.spec.degrees[p.self.Rank], InboxBytes: p.w.spec.inbox}),
		once:    onceCalls{Once: section.NewOnce(p.self.Replica, p.w.spec.degrees[p.self.Rank])},
		member:  recovery.NewMember(p.self, 0, next)}
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
		for _, q := range job.Processes(p.w.spec.degrees) {
			if _, lives := p.lives[q]; !lives {
				p.msgs.Dead(q.Rank, q.Replica)
			}
		}
		return
	}
	f := from.files[p.self.Rank]
	p.image, p.startAt = f.image, f.at
	if err := p.resumeAt(f.at); err != nil {
		p.w.fail("%v: %v", p, err)
		return
	}
	if err := p.cut(); err != nil {
		p.w.fail("%v: %v", p, err)
	}
}

// live runs the process in the job, up to its end.
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
			p.tell(&job.Message{Kind: job.KindFinish, Stats: new(job.Stats)})
			if err = p.linger(); err == nil {
				p.found("at the end")
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

// runProgram runs the program, which may end with errBack or an error of an aborted call.
// Then it informs the other replicas that this one sends no more messages.
func (p *process) runProgram() error {
	g, err := p.newProgram()
	if err == nil {
		err = g.run()
	}
	if p.w.spec.compared {
		_ = p.msgs.SumsReceived(p.life) // an error means that the job rolls back, which p.back reports
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

// linger serves the peers until the head releases this process or the job rolls
// back.
func (p *process) linger() error {
	msgs, reported := p.msgs, false
	p.reach("finished")
	for {
		seen := p.changes
		if p.released {
			return nil
		}
		if p.back.Pending() {
			return errBack
		}
		if !reported && msgs.Received() {
			reported, p.drained = true, true
			p.tell(&job.Message{Kind: job.KindDrained})
			p.reach("through")
		}
		if err := p.Wait(context.Background(), func() bool { return p.changes != seen || !reported && msgs.Received() }); err != nil {
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

// replicas returns the other live replicas of the rank.
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

// join waits until this joiner has its state and is admitted. It returns errBack if the
// process takes part in a rollback instead.
func (p *process) join() error {
	for {
		seen := p.changes
		if p.released {
			return errDismissed
		}
		step := p.member.Next()
		switch step.Kind {
		case recovery.Pass: // the joiner has no state yet
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

// takePlace makes the engines of this joiner start at the position of its rank.
func (p *process) takePlace() error {
	p.lives = make(map[job.Process]uint32)
	for q, life := range p.startAt.live {
		if p.linked(q, life) {
			p.lives[q] = life
		}
	}
	p.joined = true
	return p.resumeAt(p.startAt)
}

// linked reports whether there is a link to the process of that incarnation. A
// later process in the same slot has a higher incarnation.
func (p *process) linked(q job.Process, life uint32) bool {
	at := p.linkOf(q, 0)
	return at != nil && at.birth <= life
}

// resumeAt sets the engines to the position of the rank at a cut.
func (p *process) resumeAt(at *position) error {
	p.machine = section.NewAt(section.Config{Replica: p.self.Replica, Replicas: p.w.spec.degrees[p.self.Rank], InboxBytes: p.w.spec.inbox}, at.section)
	p.once = onceCalls{Once: section.NewOnceAt(p.self.Replica, p.w.spec.degrees[p.self.Rank], at.section)}
	p.open, p.retired, p.err = nil, false, nil
	for _, k := range p.replicas() {
		p.machine.Alive(k)
		p.once.Alive(k)
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
