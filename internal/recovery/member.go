package recovery

import (
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// Member is the part of recovery in a process. It decides what the goroutine of the
// program does at each safe point. Orders may arrive at any time.
type Member struct {
	self       job.Process
	generation uint32
	rest       bool   // no further cut is planned
	next       uint64 // the planned cut, 0 if there is none
	number     uint64 // the announced cut, 0 if there is none
	asked      bool   // the program stops at the next safe point until the cut is known
	reported   uint64 // the count of safe points in its reply

	point    uint64 // the safe point that the program is in, 0 outside
	at       uint64 // the cut that the program is in, 0 if it is in none
	drained  bool
	admit    []job.Peer
	admitted bool
	left     bool // the order Go was received
	plan     []job.Copy
	copied   bool
	set      uint64        // the set of files to write, 0: none
	savers   []job.Process // the processes that write them
	oldest   uint64        // the job rolls back to no safe point before this one; 0: unknown
	copying  bool          // some state was copied ahead at this safe point
	donate   []job.Process // joiners to copy state to, ahead of the cut
	transfer []job.Process // joiners to transfer the rest of the state to, in the cut
	rolled   bool          // this generation is over
}

// NewMember returns the Member of a process that is in no cut: at the start of its program,
// or in a new generation after a rollback. next is the planned cut, 0 if there is none.
func NewMember(self job.Process, generation uint32, next uint64) *Member {
	return &Member{self: self, generation: generation, next: next}
}

// NewJoiner returns the Member of a joiner that has received its state in cut number. Like
// all other processes it is in the cut and has drained.
func NewJoiner(self job.Process, generation uint32, number uint64) *Member {
	return &Member{self: self, generation: generation, number: number, point: number, at: number, drained: true}
}

// StepKind names the next step of the program's goroutine in a safe point.
type StepKind uint8

const (
	Pass     StepKind = iota // continue the program
	Wait                     // wait until an order arrives
	Drain                    // receive all messages from before the cut, then call Drained
	Donate                   // copy some state to the joiner Process, then call Donated
	Transfer                 // send the joiner Process the rest of the state and the position, then call Transferred
	Admit                    // make Joined live, then call Admitted
	Copy                     // copy the state for the backup of cut Number, to be sent to Process
	Save                     // write the state of cut Number to the file of this rank in Set
	Leave                    // leave the cut
	GiveUp                   // cancel the cut, during Drain or later
	Back                     // return the error of a rollback
)

// Step is one step of the program's goroutine in a safe point.
type Step struct {
	Kind    StepKind
	Number  uint64
	Process job.Process
	Joined  []job.Peer
	Set     uint64
	Oldest  uint64 // from the order; only in Leave
}

// Order processes an order of the head and returns the replies. points is the number of
// safe points that the program has entered. The caller must make sure that the next safe
// point calls Enter before it reads points; otherwise the program could pass a safe point
// uncounted.
func (m *Member) Order(o job.Order, points uint64) []job.Reply {
	switch o.Kind {
	case job.OrderDonate:
		m.donate = append(m.donate, o.Process)
	case job.OrderAsk:
		if !m.asked || m.number > 0 { // otherwise a successor asks again, and the first answer stays valid
			m.asked, m.reported = true, points
		}
		r := m.reply(job.ReplyCount, m.reported)
		r.Round = o.Round
		return []job.Reply{r}
	case job.OrderCutAt:
		m.number = o.Number
	case job.OrderCancel:
		m.rest, m.asked, m.next, m.number = true, false, 0, 0
		m.donate, m.transfer = nil, nil
	case job.OrderTransfer:
		m.transfer = append(m.transfer, o.Process)
		m.Forget(o.Process)
	case job.OrderAdmit:
		m.admit = o.Joined
		for _, q := range o.Joined { // a live process needs no copy ahead, but a successor may have ordered one
			m.Forget(q.Process)
		}
	case job.OrderGo:
		m.left, m.plan, m.next = true, o.Plan, o.Next
		m.set, m.savers, m.oldest = o.Set, o.Savers, o.Oldest
		m.asked, m.number = false, 0 // later orders are about a later cut
	case job.OrderRollback:
		m.generation, m.rolled = o.Generation, true
	case job.OrderResume:
		m.next = o.Next
	}
	return nil
}

func (m *Member) reply(kind job.ReplyKind, number uint64) job.Reply {
	return job.Reply{Kind: kind, Generation: m.generation, Number: number}
}

// Due reports whether the next safe point has to call Enter.
func (m *Member) Due() bool {
	return m.asked || m.number > 0 || m.next > 0 || len(m.donate) > 0 || m.rolled
}

// Generation returns the generation that the process is in.
func (m *Member) Generation() uint32 { return m.generation }

// Enter records that the program has entered a safe point.
func (m *Member) Enter(point uint64) {
	m.point, m.copying = point, false
}

// cut returns the number of the next cut, 0 if it is unknown.
func (m *Member) cut() uint64 {
	if m.number > 0 {
		return m.number
	}
	return m.next
}

// Next returns the next step.
func (m *Member) Next() Step {
	switch {
	case m.rolled:
		return Step{Kind: Back}
	case m.point == 0:
		return Step{}
	case m.rest && !m.left: // a cut that the head has ended (Go) is completed, not cancelled
		if m.drained {
			m.drained, m.at = false, 0
			return Step{Kind: GiveUp}
		}
		return m.pass()
	case m.point == m.at:
		return m.inCut()
	case m.asked && m.number == 0 && m.point > m.reported && m.point != m.next:
		return Step{Kind: Wait}
	case len(m.donate) > 0 && !m.copying: // also at the safe point of a cut: if every safe point is a cut, there is no other opportunity
		m.copying = true
		return Step{Kind: Donate, Process: m.donate[0]}
	case m.point == m.cut():
		return m.inCut()
	}
	return m.pass()
}

func (m *Member) pass() Step {
	m.point = 0
	return Step{}
}

func (m *Member) inCut() Step {
	m.at = m.point // Go overwrites next, so cut would no longer return this one
	switch {
	case !m.drained:
		return Step{Kind: Drain, Number: m.point}
	case len(m.transfer) > 0:
		return Step{Kind: Transfer, Number: m.point, Process: m.transfer[0]}
	case len(m.admit) > 0 && !m.admitted:
		return Step{Kind: Admit, Number: m.point, Joined: m.admit}
	case !m.left:
		return Step{Kind: Wait}
	}
	if i := slices.IndexFunc(m.plan, func(c job.Copy) bool { return c.Source == m.self }); i >= 0 && !m.copied {
		m.copied = true
		return Step{Kind: Copy, Number: m.point, Process: m.plan[i].Holder}
	}
	if set := m.set; set > 0 && slices.Contains(m.savers, m.self) {
		m.set = 0
		return Step{Kind: Save, Number: m.point, Set: set}
	}
	s := Step{Kind: Leave, Number: m.point, Joined: m.admit, Oldest: m.oldest}
	m.point, m.at = 0, 0
	m.drained, m.admitted, m.left, m.copied = false, false, false, false
	m.admit, m.plan, m.transfer = nil, nil, nil
	m.set, m.savers = 0, nil
	return s
}

// Cancelled reports whether the caller must give up a Drain under way.
func (m *Member) Cancelled() bool { return m.rest || m.rolled }

// Drained records that the step Drain is done.
func (m *Member) Drained() []job.Reply {
	m.drained = true
	if m.Cancelled() {
		return nil
	}
	return []job.Reply{m.reply(job.ReplyDrained, m.point)}
}

// Donated records that some state was sent to joiner p. all means that every part of the
// state has now been sent at least once.
func (m *Member) Donated(p job.Process, all bool) []job.Reply {
	if !all || m.rolled || !slices.Contains(m.donate, p) {
		return nil
	}
	m.Forget(p)
	r := m.reply(job.ReplyCopied, 0)
	r.Process = p
	return []job.Reply{r}
}

// Transferred records that joiner p has been sent the rest of the state.
func (m *Member) Transferred(p job.Process) {
	m.transfer = slices.DeleteFunc(m.transfer, func(q job.Process) bool { return q == p })
}

// Forget stops copying state ahead to a joiner.
func (m *Member) Forget(p job.Process) {
	m.donate = slices.DeleteFunc(m.donate, func(q job.Process) bool { return q == p })
}

// Died removes a dead joiner.
func (m *Member) Died(p job.Process) {
	m.Forget(p)
	m.Transferred(p)
}

// Takes reports whether a joiner takes the state that a donor has sent in cut number of
// that generation. It takes none after it was admitted with another state, or when it has
// to roll back. If its donor dies, a second donor may send a state, and the joiner takes
// the state of the later cut. It takes a state of a newer generation in any case: if the
// job has rolled back without the joiner, the cut of that state may have a lower number.
func (m *Member) Takes(generation uint32, number uint64) bool {
	return !m.rolled && !m.left && len(m.admit) == 0 && (generation > m.generation || generation == m.generation && number >= m.at)
}

// Joined returns the reply of a joiner that has received its state.
func (m *Member) Joined() []job.Reply { return []job.Reply{m.reply(job.ReplyJoined, m.at)} }

// Admitted records that this process treats the joiners as live.
func (m *Member) Admitted() []job.Reply {
	m.admitted = true
	if m.rolled {
		return nil
	}
	return []job.Reply{m.reply(job.ReplyAdmitted, m.point)}
}
