package launch

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/supervise"
)

// arrived: a joiner can get its links.
func (c *recoveryDriver) arrived(m *member) {
	if m.waits && m.ready() && !m.gone && m.ending == nil {
		c.tell(func() []recovery.Action { return c.decides.Arrived(m.process, m.incarnation, c.elapsed()) })
	}
}

// recruit gets the process that is due for a place, once nothing more is to
// come from the one before.
func (c *recoveryDriver) recruit(p job.Process) {
	if c == nil {
		return
	}
	incarnation, due := c.due[p]
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
		m.process, m.incarnation, m.waits, m.spare, m.before = p, incarnation, true, false, old
		c.members[p] = m
		c.eventf("a spare process on %s takes the place of %v", m.hostName(), p)
		c.place(m)
		return
	}
	m := &member{process: p, id: p, incarnation: incarnation, waits: true, before: old, outputs: output.NewMuted(p, old.outputs.Rank())}
	why := c.settleOn(m, old)
	c.members[p] = m
	c.enroll(m)
	if why != nil {
		c.notStarted(m, why)
		return
	}
	c.eventf("%v is restarted on %s", p, m.hostName())
	m.agent.Start(m.id, supervise.Joiner)
}

// settleOn chooses the host of a joiner: that of the one before, or, if it is
// lost, one with a free slot, away from the other replicas of the rank if that
// can be. A host whose links break is left too if there is another one.
func (c *recoveryDriver) settleOn(m, old *member) error {
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
		return fmt.Errorf("host %s is lost, and no other host has a free slot", old.hostName())
	default:
		return nil
	}
	m.agent, m.host, m.listen = best, best.host, c.listenAt(best)
	return nil
}

// notStarted: there is no process for a joiner.
func (c *recoveryDriver) notStarted(m *member, err error) {
	if text := fmt.Sprintf("%v cannot be replaced: %v", m.process, err); text != c.said {
		c.said = text // it is tried several times
		c.warnf("%s", text)
	}
	m.gone, m.settled = true, true
	c.left--
	c.ledger.status[m.process] = dead
	c.tell(func() []recovery.Action { return c.decides.Refused(m.process, m.incarnation, err.Error(), c.elapsed()) })
}

// introduce makes the link between a joiner and another process.
func (c *recoveryDriver) introduce(m, other *member) {
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

// dismiss lets a joiner go that the job does not need any more.
func (c *recoveryDriver) dismiss(p job.Process) {
	c.ledger.status[p] = dead
	if _, due := c.due[p]; due {
		delete(c.due, p)
		return
	}
	m := c.members[p]
	m.dismissed = true
	c.eventf("%v no longer needs a replacement", p)
	if m.hello == nil {
		m.agent.Signal(m.id, syscall.SIGKILL)
		return
	}
	c.send(m, &job.Message{Kind: job.KindRelease})
	c.after(lastWords, func() { c.kill(m) })
}
