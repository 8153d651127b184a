package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/runreport"
	"github.com/intrahpc/intra/internal/supervise"
)

// comeback is the head's part in recovery: it carries out what recovery.Head
// decides. All its methods run in the head's goroutine.
type comeback struct {
	*head
	decides *recovery.Head
	due     map[job.Process]uint32       // seats whose next process waits until the output of the one before is settled
	may     bool                         // it is kept that processes are replaced
	asks    bool                         // that is to be kept
	keeping bool                         // something is to be kept before anything else happens
	acting  bool                         // what an event led to is being done
	events  []func() []recovery.Action   // that wait for that
	quiets  map[uint64]func()            // what is done when a process is quiet
	asked   uint64                       // numbers them
	saved   map[uint64][]output.Position // where the output of each rank stood at a backup
	goal    uint64                       // the backup that the job goes back to
	said    string                       // why somebody could not be replaced
	safe    bool                         // somebody has come to a safe point
	losses  []int                        // ranks that nobody is left of
	lossAt  time.Duration                // when the first of them was lost
	runreport.Recovery
}

// recovers reports whether anything is done about lost processes, or ahead of
// losses.
func (c *Config) recovers() bool { return c.replaces() || c.Checkpoint != nil }

// replaces reports whether other processes take the place of lost ones.
func (c *Config) replaces() bool { return c.Replace || c.Spares > 0 }

// newComeback begins to decide about lost processes and cuts, nil if there is
// nothing to decide.
func (h *head) newComeback() *comeback {
	if !h.config.recovers() {
		return nil
	}
	c := h.comeback()
	c.decides = recovery.NewHead(c.plan())
	return c
}

// plan is what recovery is told of the job.
func (c *comeback) plan() recovery.Config {
	config := recovery.Config{
		Degrees: c.config.Degrees, Start: c.config.Replace, Spares: c.spares(), Backup: c.config.Backup,
		Host: func(p job.Process) string { return c.members[p].hostName() },
	}
	c.files.configure(&config)
	return config
}

// comeback is the head's part in recovery without its decisions.
func (h *head) comeback() *comeback {
	h.ledger.returns = h.config.replaces()
	c := &comeback{
		head:   h,
		due:    make(map[job.Process]uint32),
		quiets: make(map[uint64]func()),
		saved:  make(map[uint64][]output.Position),
	}
	if b := h.config.Backup; b != (recovery.Policy{}) {
		c.Backup = &runreport.Backups{Every: b.String()}
	}
	return c
}

// describe adds to what a process is told of its place.
func (c *comeback) describe(m *member, s *job.Setup) {
	if c == nil {
		return
	}
	s.Recovery, s.Newcomer, s.Next = true, m.waits, c.decides.Next()
}

// died: a process was declared dead.
func (c *comeback) died(m *member, cause job.Cause) {
	if c == nil || c.phase > working {
		return
	}
	itself := cause == job.CauseExit || cause == job.CausePanic
	lost := c.lostRank(m)
	c.tell(func() []recovery.Action { return c.decides.Died(m.process, m.birth, itself, c.elapsed()) })
	if lost && !c.ledger.decided && c.ledger.alive(m.process.Rank) == 0 {
		c.warnf("rank %d has lost its last replica %v: the job goes back to its last backup once there is another process", m.process.Rank, m.process)
	}
}

// life is that of all processes now, counted by the times that the job has gone
// back. The end of the program in a process counts unless it is just doing so.
func (c *comeback) life(m *member) (n uint32, counts bool) {
	if c == nil {
		return 0, true
	}
	return c.decides.Generation(), c.decides.State(m.process) == recovery.Running
}

// finished: the program has ended in a process, which counts.
func (c *comeback) finished(m *member) {
	if c != nil {
		c.tell(func() []recovery.Action { return c.decides.Finished(m.process, m.birth, c.elapsed()) })
	}
}

// through: nobody lacks anything that a process has sent which has finished.
func (c *comeback) through(m *member) {
	if c != nil {
		c.tell(func() []recovery.Action { return c.decides.Through(m.process, m.birth, c.elapsed()) })
	}
}

// arrived: a newcomer can get its links.
func (c *comeback) arrived(m *member) {
	if m.waits && m.ready() && !m.gone && m.ending == nil {
		c.tell(func() []recovery.Action { return c.decides.Arrived(m.process, m.birth, c.elapsed()) })
	}
}

// reply takes in what a process says about recovery. One that stands still
// counts as doing so only once all that it has written before was taken.
func (c *comeback) reply(m *member, r job.Reply) {
	if c == nil {
		return // nobody asked it
	}
	tell := func() {
		c.tell(func() []recovery.Action { return c.decides.Reply(m.process, m.birth, r, c.elapsed()) })
	}
	switch r.Kind {
	case job.ReplyDrained:
		c.whenQuiet(m, func() {
			m.stood, m.stoodAt = m.outputs.Position(), r.Number
			tell()
		})
	case job.ReplyJoined:
		m.bytes = r.Bytes
		c.whenQuiet(m, tell)
	case job.ReplyReady:
		c.whenQuiet(m, func() {
			if r.Generation == c.decides.Generation() {
				m.outputs.Resume(c.saved[c.goal][m.process.Rank])
			}
			tell()
		})
	case job.ReplyFirst:
		c.safe = true
		tell()
	case job.ReplyStored:
		c.stored(r)
		tell()
	default:
		tell()
	}
}

// whenQuiet has f called when all that a process has written is taken.
func (c *comeback) whenQuiet(m *member, f func()) {
	c.asked++
	c.quiets[c.asked] = func() {
		if !m.gone {
			f()
		}
	}
	m.agent.Quiet(m.id, c.asked)
}

// isQuiet: the process that was asked about with that number is quiet.
func (c *comeback) isQuiet(n uint64) {
	if f := c.quiets[n]; f != nil {
		delete(c.quiets, n)
		f()
	}
}

// apply does what was decided.
func (c *comeback) apply(acts []recovery.Action) {
	for i, a := range acts {
		m := c.members[a.To]
		switch a.Kind {
		case recovery.Keep:
			c.keeping = true
			c.keep(cutNote, agentwire.Encode(a.Past), func() {
				c.keeping = false
				c.perform(acts[i+1:])
			})
			return
		case recovery.Start:
			c.ledger.standing[a.To] = coming
			c.due[a.To] = a.Birth
			c.enlarge()
			c.recruit(a.To)
		case recovery.Send:
			if m.birth == a.Birth && !m.gone {
				c.pass(m, a.Order)
			}
		case recovery.Connect:
			for _, p := range a.Peers {
				c.introduce(m, c.members[p])
			}
		case recovery.Dismiss:
			c.dismiss(a.To)
		case recovery.Publish:
			c.files.publish(a)
		case recovery.Abandon:
			c.files.abandon(a.Set, a.Why)
		case recovery.Lose:
			c.lose(a.Loss)
		}
	}
}

// pass passes an order on, and does the head's part in it.
func (c *comeback) pass(m *member, o job.Order) {
	switch o.Kind {
	case job.OrderTransfer:
		c.members[o.Process].donor = m
	case job.OrderAdmit:
		if m.waits {
			m.outputs.Resume(m.donor.stood)
			c.joined(m, o.Number)
		}
	case job.OrderGo:
		if o.Plan != nil && c.saved[o.Number] == nil {
			for _, copied := range o.Plan {
				c.saved[o.Number] = append(c.saved[o.Number], c.members[copied.Source].stood)
			}
		}
	case job.OrderComplete:
		c.completed(o.Number)
	case job.OrderRollback:
		c.back(m, o)
	case job.OrderResume:
		c.resumed()
	}
	c.send(m, &job.Message{Kind: job.KindOrder, Order: &o})
}

// back: the job goes back, and this process with it.
func (c *comeback) back(m *member, o job.Order) {
	c.goal = o.Number
	c.ledger.back()
	c.rolledBack(o)
	m.outputs.Mute()
	if m.waits {
		i := slices.IndexFunc(o.Deals, func(d job.Deal) bool { return d.To == m.process })
		m.donor = c.members[o.Deals[i].From]
		c.joined(m, o.Number)
	}
}

// joined: a newcomer lives from here on.
func (c *comeback) joined(m *member, at uint64) {
	m.waits = false
	c.ledger.standing[m.process] = running
	c.replaced(m, at)
}

// recruit gets the process that is due for a place, once nothing more is to
// come from the one before.
func (c *comeback) recruit(p job.Process) {
	if c == nil {
		return
	}
	birth, due := c.due[p]
	old := c.members[p]
	if !due || !c.may || !old.settled || c.phase > working {
		return
	}
	delete(c.due, p)
	for d := range c.doubts {
		if d.of == p || d.about == p {
			delete(c.doubts, d)
		}
	}
	if m := c.bestSpare(p); m != nil {
		m.outputs.Move(p, old.outputs.Rank())
		m.process, m.birth, m.waits, m.spare, m.before = p, birth, true, false, old
		c.members[p] = m
		c.eventf("a spare process on %s takes the place of %v", m.hostName(), p)
		c.place(m)
		return
	}
	m := &member{process: p, id: p, birth: birth, waits: true, before: old, outputs: output.NewMuted(p, old.outputs.Rank())}
	why := c.settleOn(m, old)
	c.members[p] = m
	c.enroll(m)
	if why != nil {
		c.notStarted(m, why)
		return
	}
	c.eventf("%v is started again on %s", p, m.hostName())
	m.agent.Start(m.id, supervise.Newcomer)
}

// settleOn chooses the host of a newcomer: that of the one before, or, if it is
// lost, one with a free slot, away from the other replicas of the rank if that
// can be. A host whose links break is left too if there is another one.
func (c *comeback) settleOn(m, old *member) error {
	m.agent, m.host, m.listen = old.agent, old.host, old.listen
	switch {
	case !c.config.Replace:
		return errors.New("no spare process is left")
	case !c.lost[old.agent] && (old.dying == nil || old.dying.cause != job.CauseLink):
		return nil
	}
	used, together := make(map[agent]int), make(map[agent]bool)
	for _, o := range c.order {
		if !o.gone {
			used[o.agent]++
			together[o.agent] = together[o.agent] || o.process.Rank == m.process.Rank
		}
	}
	var best *remote
	for _, r := range c.remotes {
		if !c.lost[r] && agent(r) != old.agent && used[r] < r.host.Slots && (best == nil || together[best] && !together[r]) {
			best = r
		}
	}
	switch {
	case best != nil:
	case c.lost[old.agent]:
		return fmt.Errorf("host %s is lost, and no other one has a free slot", old.hostName())
	default:
		return nil
	}
	m.agent, m.host, m.listen = best, best.host, c.listenAt(best)
	return nil
}

// notStarted: there is no process for a newcomer.
func (c *comeback) notStarted(m *member, err error) {
	if text := fmt.Sprintf("%v cannot be replaced: %v", m.process, err); text != c.said {
		c.said = text // it is tried several times
		c.warnf("%s", text)
	}
	m.gone, m.settled = true, true
	c.left--
	c.ledger.standing[m.process] = dead
	c.tell(func() []recovery.Action { return c.decides.Refused(m.process, m.birth, err.Error(), c.elapsed()) })
}

// introduce makes the link between a newcomer and another process.
func (c *comeback) introduce(m, other *member) {
	lower, higher := m, other
	if lower.process.Compare(higher.process) > 0 {
		lower, higher = higher, lower
	}
	kind := job.LinkTCP
	if m.agent == other.agent {
		kind = c.config.Link
	}
	if kind != job.LinkTCP {
		m.agent.Link(supervise.HostLink{Lower: lower.id, Higher: higher.id, Kind: kind, Ring: c.config.Ring,
			Meet: &[2]job.Peer{lower.peer(kind), higher.peer(kind)}})
		return
	}
	c.send(lower, &job.Message{Kind: job.KindConnect, Peers: []job.Peer{higher.peer(kind)}})
	c.send(higher, &job.Message{Kind: job.KindConnect, Peers: []job.Peer{lower.peer(kind)}})
}

// dismiss lets a newcomer go that the job does not need any more.
func (c *comeback) dismiss(p job.Process) {
	c.ledger.standing[p] = dead
	if _, due := c.due[p]; due {
		delete(c.due, p)
		return
	}
	m := c.members[p]
	m.dismissed = true
	c.eventf("%v need not be replaced any more", p)
	if m.hello == nil {
		m.agent.Signal(m.id, syscall.SIGKILL)
		return
	}
	c.send(m, &job.Message{Kind: job.KindRelease})
	c.after(lastWords, func() { c.kill(m) })
}

// lose ends the job.
func (c *comeback) lose(loss *recovery.Loss) {
	for p, s := range c.ledger.standing {
		if s == coming {
			c.dismiss(p)
		}
	}
	c.ledger.beyond(loss, c.elapsed())
}

// expendable returns which of two processes, both the last ones of their ranks,
// the job can come back without: the higher one if it can without either.
func (c *comeback) expendable(p, q job.Process) (job.Process, bool) {
	if c == nil || p.Rank == q.Rank {
		return job.Process{}, false
	}
	if p.Compare(q) < 0 {
		p, q = q, p
	}
	for _, v := range []job.Process{p, q} {
		if c.decides.Returns(v) {
			return v, true
		}
	}
	return job.Process{}, false
}

// warnNone says what the program could not be given, since it came to no safe
// point.
func (c *comeback) warnNone() {
	if c == nil || c.safe || c.config.Restart != "" { // that begins at one
		return
	}
	const why = "since the program came to no safe point (intra.SafePoint)"
	missed := len(c.failures) > 0 && c.config.replaces()
	if missed {
		c.warnf("warning: nobody could be replaced, %s", why)
	}
	var idle []string
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"-replace", c.config.Replace && !missed},
		{"-spares", c.config.Spares > 0 && !missed},
		{"-backup", c.config.Backup != (recovery.Policy{})},
		{"-checkpoint", c.config.Checkpoint != nil},
	} {
		if f.given {
			idle = append(idle, f.name)
		}
	}
	if len(idle) > 0 {
		c.warnf("warning: %s had no effect, %s", enumerate(idle), why)
	}
}

// enumerate writes a, b and c.
func enumerate(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return all[0]
}
