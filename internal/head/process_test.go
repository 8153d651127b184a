package head

import (
	"fmt"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// proc is a process. Package recovery contains its side of the protocols. Its program runs
// from safe point to safe point, and writes a line at each. No rank is more than one safe
// point behind another.
type proc struct {
	agent       *agent
	from        From
	role        Role
	process     job.Process // its slot
	incarnation uint32

	log     *agentlog.Process[Event, *proc]
	mail    []*job.Message // unread messages
	handled map[uint64]time.Duration

	dead    bool // the process no longer acts
	exited  bool // the agent knows of its exit
	status  Exit
	stopped time.Duration // how long the process has been stopped, 0 if it is not
	since   time.Duration // when the head last received a report of the stop
	stuck   bool          // the process does nothing more, and has to be killed

	hello    bool // the process has authenticated itself
	setup    *job.Setup
	begun    bool
	left     bool // the process was released, and exits
	epoch    uint64
	m        *recovery.Member
	back     recovery.Return[state]
	slots    recovery.Slots[state]
	gen      uint32
	waits    bool // the process waits for its state
	placed   bool // the process was admitted, or has rolled back
	inPoint  bool
	dispute  *job.Dispute // the dispute that keeps the process from continuing
	blamed   []job.Blame  // blamed processes of its rank
	frames   uint32       // incarnation in its frames since its last rollback; 0: no rollback yet
	point    uint64
	lines    int
	first    bool // the process has reported its first safe point
	relieved bool // another process has taken over
	done     bool // the program has returned
	drained  bool
	kills    map[int]bool // kills that the process has carried out
}

// state is the state of a rank.
type state struct {
	point uint64
	lines int
}

// packet is state on its way from one process to another.
type packet struct {
	from, to *proc
	kind     string // state, slot, deal
	gen      uint32
	full     uint64
	rank     int
	number   uint64
	state    state
}

func newProc(a *agent, s Start, log *agentlog.Process[Event, *proc]) *proc {
	return &proc{agent: a, from: s.To, role: s.Role, log: log, since: longAgo, process: s.Process, incarnation: s.Incarnation, kills: make(map[int]bool),
		handled: make(map[uint64]time.Duration)}
}

func (p *proc) String() string {
	return fmt.Sprintf("%v#%d %v role %d dead %v exited %v hello %v begun %v point %d gen %d waits %v inPoint %v done %v mail %d back %q member %q",
		p.process, p.incarnation, p.from, p.role, p.dead, p.exited, p.hello, p.begun, p.point, p.gen, p.waits, p.inPoint, p.done, len(p.mail), p.back.Describe(), p.describe())
}

func (p *proc) describe() string {
	if p.m == nil {
		return ""
	}
	return p.m.Describe()
}

// tell makes the agent report an event of the process, and record the report for a later head.
func (p *proc) tell(e Event) {
	p.log.Note(e)
	p.agent.outbox = append(p.agent.outbox, e)
}

// say sends a message to the head.
func (p *proc) say(m *job.Message) {
	if m.Kind == job.KindHandled {
		p.handled[m.Epoch] = p.agent.w.now
	}
	p.log.Say(m, p.agent.w.now)
	p.agent.outbox = append(p.agent.outbox, Said{p.from, m})
}

func (p *proc) reply(all []job.Reply) {
	for _, r := range all {
		p.say(&job.Message{Kind: job.KindReply, Reply: &r})
	}
}

// kill ends the process by a signal.
func (p *proc) kill(s syscall.Signal) {
	if !p.dead {
		p.dead, p.status = true, exitOf(s, 0)
	}
}

// exit makes the process exit by itself.
func (p *proc) exit(code int) {
	if !p.dead {
		p.dead, p.status = true, exitOf(0, code)
	}
}

// works reports whether the process runs the program.
func (p *proc) works() bool { return !p.dead && !p.stuck && p.begun && !p.waits }

// suspectSomebody reports a broken link, and sometimes its repair.
func (p *proc) suspectSomebody() {
	w := p.agent.w
	for _, a := range w.agents {
		for _, q := range a.all {
			if q != p && p.works() && q.works() && w.random.IntN(2) == 0 {
				w.links++
				w.seen["a link is broken"]++
				p.suspect(q)
				if w.random.IntN(2) == 0 {
					p.say(&job.Message{Kind: job.KindMended, Process: &q.process, Incarnation: q.incarnation})
				}
				return
			}
		}
	}
}

// suspect reports that the link to q has broken.
func (p *proc) suspect(q *proc) {
	p.say(&job.Message{Kind: job.KindSuspect, Process: &q.process, Incarnation: q.incarnation, Text: "reset"})
}

// stop stops the process.
func (p *proc) stop() {
	p.stopped = time.Second + 1
	p.agent.w.seen["a process is stopped"]++
}

// moves lists the possible moves of the process.
func (p *proc) moves(all []func()) []func() {
	w := p.agent.w
	if p.dead {
		if !p.exited {
			all = append(all, func() {
				p.exited = true
				p.tell(Exited{p.from, p.status})
			})
		}
		return all
	}
	if p.stopped > 0 {
		if w.random.IntN(10) == 0 {
			all = append(all, func() {
				p.agent.outbox = append(p.agent.outbox, Stopped{p.from, p.stopped})
				if w.random.IntN(4) == 0 {
					p.stopped = 0
				}
			})
		}
		return all
	}
	if p.stuck {
		return all
	}
	if !p.hello {
		return append(all, func() {
			p.hello = true
			p.log.Joined = true
			p.tell(Joined{p.from, &job.Hello{Tag: true, PID: 1}})
		})
	}
	if len(p.mail) > 0 {
		all = append(all, p.read)
	}
	if p.left {
		return append(all, func() { p.exit(0) })
	}
	if p.m == nil || !p.begun {
		return all
	}
	if len(p.blamed) > 0 && !p.done && w.random.IntN(20) == 0 {
		all = append(all, p.sayCorruption)
	}
	switch {
	case p.back.Pending():
		if f := p.goBack(); f != nil {
			all = append(all, f)
		}
	case p.waits:
	case p.done:
		if !p.drained && w.random.IntN(4) == 0 {
			all = append(all, func() {
				p.drained = true
				p.say(&job.Message{Kind: job.KindDrained})
			})
		}
	case p.inPoint:
		if f := p.inside(); f != nil {
			all = append(all, f)
		}
	case p.dispute != nil:
		if w.random.IntN(10) == 0 { // the process reports from time to time
			all = append(all, p.sayCorruption)
		}
	default:
		if f := p.pass1(); f != nil {
			all = append(all, f)
		}
	}
	return all
}

// read handles the next message of the head.
func (p *proc) read() {
	w := p.agent.w
	m := p.mail[0]
	p.mail = p.mail[1:]
	switch m.Kind {
	case job.KindSetup:
		p.setup, p.epoch = m.Setup, m.Epoch
		p.process, p.incarnation = m.Setup.Self, m.Setup.Incarnation
		p.waits, p.begun, p.placed = m.Setup.Joiner, m.Setup.Joiner, !m.Setup.Joiner
		p.m = recovery.NewMember(p.process, p.gen, m.Setup.Next)
		if m.Setup.Restart != nil {
			p.point, p.lines = m.Setup.Restart.Set.Cut, 0
		}
		if m.Setup.Listen != "" {
			p.say(&job.Message{Kind: job.KindListen, Address: "host:1"})
		}
	case job.KindStart:
		p.begun = true
		p.checkPeers(m.Peers)
	case job.KindConnect:
		if !p.begun {
			w.failf("%v gets a link to %v before it has begun", p, m.Peers[0].Process)
		}
		p.checkPeers(m.Peers)
		p.reply([]job.Reply{{Kind: job.ReplyLinked, Process: m.Peers[0].Process, Incarnation: m.Peers[0].Incarnation, Generation: p.gen}})
	case job.KindVerdict:
		if m.Verdict.Epoch != p.epoch+1 {
			w.failf("%v receives verdict %d after %d", p, m.Verdict.Epoch, p.epoch)
		}
		p.epoch = m.Verdict.Epoch
		if v := w.state.Verdicts[p.epoch-1]; v.Process != m.Verdict.Process || v.Incarnation != m.Verdict.Incarnation || v.Cause != m.Verdict.Cause {
			w.failf("%v receives %+v, but %+v was decided", p, m.Verdict, v)
		}
		if m.Verdict.Process == p.process && m.Verdict.Incarnation == p.incarnation {
			w.failf("%v receives its own verdict", p)
		}
		p.m.Died(m.Verdict.Process)
		p.say(&job.Message{Kind: job.KindHandled, Epoch: p.epoch})
	case job.KindOrder:
		p.obey(*m.Order)
	case job.KindRelease:
		if p.placed && !p.done {
			w.failf("%v is released before it has finished", p)
		}
		if p.placed && int(p.epoch) < w.mourned {
			w.failf("%v is released after %d of %d deaths", p, p.epoch, w.mourned)
		}
		p.left = true
		p.stuck = w.random.IntN(20) == 0
	case job.KindEnd, job.KindRefuse:
		if p.stuck = w.random.IntN(5) == 0; !p.stuck {
			p.exit(1)
		}
	}
}

// checkPeers checks that peers which are reached over the network have reported their
// addresses.
func (p *proc) checkPeers(peers []job.Peer) {
	for _, q := range peers {
		if q.Link == job.LinkTCP && q.Address == "" {
			p.agent.w.failf("%v gets a link to %v, which has not reported where it listens", p, q.Process)
		}
	}
}

func (p *proc) obey(o job.Order) {
	w := p.agent.w
	w.seen["order "+string(o.Kind)]++
	p.reply(p.m.Order(o, p.point))
	switch o.Kind {
	case job.OrderFail:
		if p.dispute == nil || o.Generation != p.gen {
			return
		}
		w.seen["a program fails for good"]++
		p.say(&job.Message{Kind: job.KindFail, Failure: &job.Failure{Kind: p.dispute.Kind, Text: p.dispute.Text}, Stats: new(job.Stats)})
		p.exit(2)
	case job.OrderComplete:
		p.slots.Complete(o.Number, o.Older)
	case job.OrderRenew:
		s, ok := p.slots.Get(o.Rank, o.Number)
		if !ok {
			w.failf("%v is to send backup %d of rank %d without holding it", p, o.Number, o.Rank)
			return
		}
		w.send(&packet{from: p, kind: "slot", gen: p.gen, full: p.slots.Full(), rank: o.Rank, number: o.Number, state: s}, o.Process)
	case job.OrderRollback:
		w.seen["a process rolls back"]++
		p.done, p.drained, p.waits, p.inPoint, p.gen = false, false, false, false, o.Generation
		p.slots.Back(o.Number, o.Older)
		for _, q := range o.Peers {
			if q.Process == p.process {
				p.frames = q.Incarnation
			}
		}
	case job.OrderResume:
		p.m = recovery.NewMember(p.process, p.gen, o.Next)
	}
	p.back.Order(o)
}
