package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/decision"
	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// head is the head of the job: it carries out what recovery decides, as package
// launch does. Everything that it does is a step of the simulation.
type head struct {
	w        *world
	decides  *recovery.Head // nil: what is lost stays lost
	members  map[job.Process]*process
	standing map[job.Process]standing
	through  map[int]bool
	verdicts []job.Verdict
	spares   int

	state   *kept                      // what has been kept
	record  []undecided                // what is to be kept, in order
	keeping bool                       // something is, before anything else happens
	acting  bool                       // what an event led to is being done
	events  []func() []recovery.Action // that wait for that
	due     map[job.Process]uint32     // seats whose next process waits until it is kept that there are others
	may     bool
	asks    bool

	truth witness

	publishing []uint64 // sets that are being made complete

	released bool
	folded   recovery.Snapshot // of its decisions
	decided  bool              // how the job ends
	lost     bool
	cut      bool           // because of a broken link between last replicas
	loss     *recovery.Loss // nil: of a rank whose processes are not replaced
	rank     int
}

type standing int

const (
	running standing = iota
	finished
	coming
	gone
)

// kept is what has been decided: the entries that the real head has too, and
// notes about the rest.
type kept struct {
	*decision.State
	notes map[string][]byte
}

// undecided is something that has to be kept before it is done.
type undecided struct {
	keep func(*kept)
	act  func()
}

func newHead(w *world) *head {
	h := &head{w: w, members: make(map[job.Process]*process), standing: make(map[job.Process]standing),
		through: make(map[int]bool), due: make(map[job.Process]uint32), state: &kept{decision.NewState(), make(map[string][]byte)}, spares: w.spec.spares,
		truth: newWitness()}
	for _, p := range job.Processes(w.spec.degrees) {
		h.state.Apply(decision.Entry{Kind: decision.Born, Process: p, ID: p, Incarnation: firstLife, Node: detect.ID(2 + (p.Rank+p.Replica)%w.spec.hosts)})
	}
	if w.spec.recovers() {
		h.decides = recovery.NewHead(h.config())
	}
	return h
}

// config is what recovery is told of the job.
func (h *head) config() recovery.Config {
	s := h.w.spec
	c := recovery.Config{Degrees: s.degrees, Start: s.start, Spares: h.spares, Files: s.files, Host: s.host}
	if s.replaces() {
		c.Backup = s.backup
	}
	if s.restart != nil {
		c.From = s.restart.cut
	}
	return c
}

func (h *head) next() uint64 {
	if h.decides == nil {
		return 0
	}
	return h.decides.Next()
}

// now is the time by the head's clock.
func (h *head) now() time.Duration { return time.Duration(h.w.spec.slow) * h.w.since() }

// sit gives a process its seat.
func (h *head) sit(p *process) { h.members[p.self] = p }

// ended reports whether the job is over.
func (h *head) ended() bool {
	if h.lost {
		return true
	}
	if !h.released {
		return false
	}
	for _, p := range h.w.processes {
		if !p.dead && !p.left {
			return false
		}
	}
	return true
}

// moves lists what can happen at the head; all: even what takes its time.
func (h *head) moves(list []func(), all bool) []func() {
	if think := h.w.spec.think; len(h.record) > 0 && (all || think == 0 || h.w.random.IntN(think) == 0) {
		list = append(list, h.kept)
	}
	if h.mayBeLost() && h.w.random.IntN(150) == 0 {
		list = append(list, h.w.succeed)
	}
	for _, p := range h.w.processes {
		switch {
		case p.declared:
		case len(p.says) > 0:
			list = append(list, func() { h.hear(p) })
		case p.dead && !p.gone:
			list = append(list, func() { h.gone(p) })
		}
		if !p.dead && len(p.writing) > 0 {
			list = append(list, p.write)
		}
	}
	if len(h.publishing) > 0 {
		list = append(list, h.publish)
	}
	if len(h.w.rifts) > 0 && h.w.random.IntN(50) == 0 {
		list = append(list, h.judgeRift)
	}
	return list
}

// decide has act done once the entry is kept; at once where nobody keeps it.
func (h *head) decide(e decision.Entry, act func()) {
	h.propose(func(k *kept) { k.Apply(e) }, act)
}

// note has act done once a note is kept.
func (h *head) note(key string, value []byte, act func()) {
	h.propose(func(k *kept) { k.notes[key] = value }, act)
}

func (h *head) propose(keep func(*kept), act func()) {
	if h.w.heirs == 0 && len(h.record) == 0 && !h.w.spec.kept {
		act()
		return
	}
	h.record = append(h.record, undecided{keep, act})
}

func (h *head) kept() {
	d := h.record[0]
	h.record = h.record[1:]
	d.keep(h.state)
	if h.mayBeLost() && h.w.random.IntN(6) == 0 { // it is kept, and not done
		h.w.succeed()
		return
	}
	d.act()
}

// hear takes the next word of a process.
func (h *head) hear(p *process) {
	said := p.says[0]
	p.says = p.says[1:]
	if h.w.heirs > 0 {
		p.said = append(p.said, said)
	}
	switch {
	case said.reply != nil:
		if h.decides == nil {
			return
		}
		h.tell(func() []recovery.Action {
			if said.reply.Kind == job.ReplySaved && said.reply.Set == h.truth.set {
				delete(h.truth.savers, p)
			}
			if said.reply.Generation == h.decides.Generation() && h.members[p.self] == p && h.standing[p.self] != coming {
				h.truth.hears(p, *said.reply)
			}
			return h.decides.Reply(p.self, p.birth, *said.reply, h.now())
		})
	case said.finished:
		life, counts := h.life(p)
		if !counts {
			return
		}
		h.decide(decision.Entry{Kind: decision.Finished, Process: p.self, Incarnation: firstLife}, func() {
			if now, counts := h.life(p); now != life || !counts {
				return
			}
			if h.decides != nil {
				h.tell(func() []recovery.Action { return h.decides.Finished(p.self, p.birth, h.now()) })
			}
			if h.standing[p.self] == running {
				h.standing[p.self] = finished
			}
			h.releaseIfComplete()
		})
	case said.drained:
		life, _ := h.life(p)
		h.note(drainedNote(p.self), []byte("drained"), func() {
			if now, _ := h.life(p); now != life {
				return
			}
			if h.standing[p.self] == finished {
				h.through[p.self.Rank] = true
			}
			h.releaseIfComplete()
			if h.decides != nil {
				h.tell(func() []recovery.Action { return h.decides.Through(p.self, p.birth, h.now()) })
			}
		})
	}
}

// life is that of all processes now. The end of the program in a process
// counts unless it is just going back.
func (h *head) life(p *process) (n uint32, counts bool) {
	if h.decides == nil {
		return 0, true
	}
	return h.decides.Generation(), h.decides.State(p.self) == recovery.Running
}

// gone: a process is no more, and all that it said is known.
func (h *head) gone(p *process) {
	p.gone = true
	h.decide(decision.Entry{Kind: decision.Died, Process: p.self, Incarnation: firstLife, Cause: job.CauseSignal}, func() { h.condemn(p) })
}

// condemn makes the verdict on a dead process.
func (h *head) condemn(p *process) {
	p.declared = true
	if h.standing[p.self] == gone && h.members[p.self] != p || p.dismissed {
		return
	}
	h.standing[p.self] = gone
	v := job.Verdict{Epoch: uint64(len(h.verdicts) + 1), Process: p.self, Incarnation: p.birth, Cause: job.CauseSignal}
	h.verdicts = append(h.verdicts, v)
	if h.alive(p.self.Rank) == 0 && !h.through[p.self.Rank] && !h.w.spec.replaces() {
		h.lose(p.self.Rank, nil)
	}
	for _, q := range h.w.processes {
		if !q.dead {
			q.events = append(q.events, v)
		}
	}
	h.died(p)
	h.settle()
	h.releaseIfComplete()
}

// died tells recovery of a death.
func (h *head) died(p *process) {
	if h.decides == nil || h.released || h.decided {
		return
	}
	h.tell(func() []recovery.Action {
		acts := h.decides.Died(p.self, p.birth, false, h.now())
		abandoned := func(a recovery.Action) bool { return a.Kind == recovery.Abandon && a.Set == h.truth.set }
		if h.truth.set > 0 && h.truth.savers[p] && !slices.ContainsFunc(acts, abandoned) {
			h.w.fail("%v has died before it has written its file, and set %d is not given up", p, h.truth.set)
		}
		return acts
	})
}

// give: recovery has given the job up.
func (h *head) give(loss *recovery.Loss) {
	for seat, s := range h.standing {
		if s == coming {
			h.dismiss(seat)
		}
	}
	h.lose(loss.Rank, loss)
}

// lose decides that the job ends without a rank.
func (h *head) lose(rank int, loss *recovery.Loss) {
	if !h.decided {
		h.decided, h.rank, h.loss = true, rank, loss
	}
}

// settle ends the job once it is decided.
func (h *head) settle() {
	if h.decided && !h.lost {
		h.lost = true
		why := "nobody is replaced"
		switch {
		case h.cut:
			h.w.seen["lost: a link"]++
			return
		case h.loss != nil:
			why = h.loss.Why
		}
		h.w.seen["lost: "+why]++
		h.judge()
	}
}

func (h *head) alive(rank int) int {
	n := 0
	for replica := range h.w.spec.degrees[rank] {
		if s := h.standing[job.Process{Rank: rank, Replica: replica}]; s == running || s == finished {
			n++
		}
	}
	return n
}

// releaseIfComplete lets the processes go when all that live have finished.
func (h *head) releaseIfComplete() {
	if h.released || h.decided {
		return
	}
	for _, p := range job.Processes(h.w.spec.degrees) {
		if s := h.standing[p]; s == running || s == coming || s == finished && h.w.spec.patient && !h.members[p].drained {
			return
		}
	}
	h.released = true
	h.decide(decision.Entry{Kind: decision.Released}, func() {
		for _, p := range h.w.processes {
			if !p.dead {
				p.events = append(p.events, job.Release{})
			}
		}
	})
}

func (h *head) String() string {
	s := fmt.Sprintf("head: standing %v through %v keeping %v, %d events wait, due %v, decided %v released %v", h.standing, h.through, h.keeping, len(h.events), h.due, h.decided, h.released)
	if h.decides != nil {
		s += "\n" + h.decides.String()
	}
	return s
}

// describe says what a process does.
func (p *process) describe() string {
	s := fmt.Sprintf("dead %v ended %v left %v woken %v events %v queue %v says %d gifts %d wires %d lives %v back %v pending %d filling %d",
		p.dead, p.ended, p.left, p.woken, p.events, p.queue, len(p.says), len(p.gifts), len(p.wires), p.lives, p.back.Describe(), p.pending, p.filling)
	if p.program != nil {
		s += fmt.Sprintf(" points %d due %v", p.program.points, p.program.due)
	}
	s += fmt.Sprintf(" section %d open %v member %+v", p.machine.Number(), p.open != nil, p.member)
	if p.msgs != nil {
		s += "\n" + p.msgs.Describe()
	}
	return s
}
