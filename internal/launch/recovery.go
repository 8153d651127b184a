package launch

import (
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/runreport"
)

// recoveryDriver is the head's part in recovery: it carries out what recovery.Head
// decides. All its methods run in the head's goroutine.
type recoveryDriver struct {
	*head
	decides *recovery.Head
	due     map[job.Process]uint32       // places whose next process waits until the output of the one before is settled
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

// newRecoveryDriver begins to decide about lost processes and cuts, nil if there is
// nothing to decide.
func (h *head) newRecoveryDriver() *recoveryDriver {
	if !h.config.recovers() {
		return nil
	}
	c := h.recoveryDriver()
	c.decides = recovery.NewHead(c.plan())
	return c
}

// plan is what recovery is told of the job.
func (c *recoveryDriver) plan() recovery.Config {
	config := recovery.Config{
		Degrees: c.config.Degrees, Start: c.config.Replace, Spares: c.spares(), Backup: c.config.Backup,
		Host: func(p job.Process) string { return c.members[p].hostName() },
	}
	c.files.configure(&config)
	return config
}

// recoveryDriver is the head's part in recovery without its decisions.
func (h *head) recoveryDriver() *recoveryDriver {
	h.ledger.returns = h.config.replaces()
	c := &recoveryDriver{
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
func (c *recoveryDriver) describe(m *member, s *job.Setup) {
	if c == nil {
		return
	}
	s.Recovery, s.Joiner, s.Next = true, m.waits, c.decides.Next()
}

// died: a process was declared dead.
func (c *recoveryDriver) died(m *member, cause job.Cause) {
	if c == nil || c.phase > working {
		return
	}
	itself := cause == job.CauseExit || cause == job.CausePanic
	lost := c.lostRank(m)
	c.tell(func() []recovery.Action { return c.decides.Died(m.process, m.incarnation, itself, c.elapsed()) })
	if lost && !c.ledger.decided && c.ledger.alive(m.process.Rank) == 0 {
		c.warnf("rank %d has lost its last replica %v: the job will go back to its last backup once a replacement has started", m.process.Rank, m.process)
	}
}

// generation is that of all processes now, counted by the times that the job has gone
// back. The end of the program in a process counts unless it is just doing so.
func (c *recoveryDriver) generation(m *member) (n uint32, counts bool) {
	if c == nil {
		return 0, true
	}
	return c.decides.Generation(), c.decides.State(m.process) == recovery.Running
}

// finished: the program has ended in a process, which counts.
func (c *recoveryDriver) finished(m *member) {
	if c != nil {
		c.tell(func() []recovery.Action { return c.decides.Finished(m.process, m.incarnation, c.elapsed()) })
	}
}

// drained: nobody lacks anything that a process has sent which has finished.
func (c *recoveryDriver) drained(m *member) {
	if c != nil {
		c.tell(func() []recovery.Action { return c.decides.Through(m.process, m.incarnation, c.elapsed()) })
	}
}

// reply takes in what a process says about recovery. One that stands still
// counts as doing so only once all that it has written before was taken.
func (c *recoveryDriver) reply(m *member, r job.Reply) {
	if c == nil {
		return // nobody asked it
	}
	tell := func() {
		c.tell(func() []recovery.Action { return c.decides.Reply(m.process, m.incarnation, r, c.elapsed()) })
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
func (c *recoveryDriver) whenQuiet(m *member, f func()) {
	c.asked++
	c.quiets[c.asked] = func() {
		if !m.gone {
			f()
		}
	}
	m.agent.Quiet(m.id, c.asked)
}

// isQuiet: the process that was asked about with that number is quiet.
func (c *recoveryDriver) isQuiet(n uint64) {
	if f := c.quiets[n]; f != nil {
		delete(c.quiets, n)
		f()
	}
}

// apply does what was decided.
func (c *recoveryDriver) apply(acts []recovery.Action) {
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
			c.ledger.status[a.To] = coming
			c.due[a.To] = a.Birth
			c.enlarge()
			c.recruit(a.To)
		case recovery.Send:
			if m.incarnation == a.Birth && !m.gone {
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
func (c *recoveryDriver) pass(m *member, o job.Order) {
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
func (c *recoveryDriver) back(m *member, o job.Order) {
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

// joined: a joiner lives from here on.
func (c *recoveryDriver) joined(m *member, at uint64) {
	m.waits = false
	c.ledger.status[m.process] = running
	c.replaced(m, at)
}

// lose ends the job.
func (c *recoveryDriver) lose(loss *recovery.Loss) {
	for p, s := range c.ledger.status {
		if s == coming {
			c.dismiss(p)
		}
	}
	c.ledger.beyond(loss, c.elapsed())
}

// expendable returns which of two processes, both the last ones of their ranks,
// the job can come back without: the higher one if it can without either.
func (c *recoveryDriver) expendable(p, q job.Process) (job.Process, bool) {
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
func (c *recoveryDriver) warnNone() {
	if c == nil || c.safe || c.config.Restart != "" { // that begins at one
		return
	}
	const why = "because the program reached no safe point (intra.SafePoint)"
	missed := len(c.failures) > 0 && c.config.replaces()
	if missed {
		c.warnf("warning: no process could be replaced, %s", why)
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
