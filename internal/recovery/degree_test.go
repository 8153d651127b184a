package recovery

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// setDegree sets how many replicas a rank is to have.
func (c *cluster) setDegree() {
	c.changes--
	rank := c.rng.IntN(len(c.want))
	n := 1 + c.rng.IntN(c.head.config.Degrees[rank])
	c.keep(func() { c.targets[rank] = n }, func() {
		c.tell(func() []Action { return c.head.Degree(rank, n, c.now) })
	})
}

// checkTargets checks that a cut neither gives a rank more replicas than it is to have, nor lets
// too many go.
func (c *cluster) checkTargets(d *Decision) {
	if d.Kind != Admitted { // in a rollback all joiners become live
		return
	}
	for rank, target := range c.head.replicas.targets {
		alive, more, fewer := c.head.replicas.alive(rank), 0, 0
		for _, j := range d.Joined {
			if j.Process.Rank != rank || j.Relieves {
				continue
			}
			if more++; c.head.replicas.of[j.Process].alive() { // the head counts it already
				alive--
			}
		}
		for _, e := range d.Departed {
			if e.Process.Rank == rank {
				fewer++
			}
		}
		if more > 0 && alive+more > target || fewer > 0 && alive-fewer < target {
			c.fail("rank %d is to have %d replicas and has %d: %d join, %d are let go", rank, target, alive, more, fewer)
		}
	}
}

// letGo kills the processes that leave their ranks, and returns those that stay after all.
func (c *cluster) letGo(departed []job.Endpoint) (void []job.Endpoint) {
	for _, e := range departed {
		var others []job.Process
		for _, p := range job.Processes(c.head.config.Degrees) {
			if p.Rank == e.Process.Rank && p != e.Process {
				others = append(others, p)
			}
		}
		q := c.find(e.Process, e.Incarnation)
		if !c.snapshot.Departed(e, others) {
			c.seen["a process stays after all"]++
			void = append(void, e)
			continue
		}
		c.seen["let go"]++
		if !q.inPt || !q.m.drained {
			c.fail("%v is let go outside of the cut", q.p)
		}
		c.leaveSlot(q)
		if !slices.ContainsFunc(c.procs, func(o *proc) bool { return o.p.Rank == q.p.Rank && o.member && !o.declared }) {
			c.fail("%v is let go, and was the last of its rank", q.p)
		}
		if b := c.head.backups.complete; b != nil && c.head.backups.returns() && !b.heldBut(func(p job.Process) bool {
			return slices.Contains(departed, job.Endpoint{Process: p, Incarnation: c.head.replicas.of[p].incarnation})
		}) {
			c.fail("%v is let go, which holds the last copy of a rank in backup %d", q.p, b.number)
		}
	}
	return void
}

// leaveSlot ends a process that has stopped in a cut and never leaves it.
func (c *cluster) leaveSlot(q *proc) {
	q.dead, q.declared, q.toAgent, q.orders, q.says, q.toHead = true, true, nil, nil, nil, nil
	c.deaths = append(c.deaths, q)
	c.data = slices.DeleteFunc(c.data, func(d *packet) bool { return d.to == q })
}

// If there are too many replicas, the one with the highest number is let go, unless the driver has
// another order. A process that is to be let go is not relieved by another one.
func TestWhoIsLetGo(t *testing.T) {
	p := func(replica int) job.Process { return job.Process{Replica: replica} }
	newHead := func(leaver func(p, q job.Process) int) *Head {
		h := NewHead(Config{Degrees: []int{3}, Start: true, Leaver: leaver})
		for _, s := range h.replicas.slots {
			s.safe = true
		}
		return h
	}
	names := func(h *Head) (all []job.Process) {
		for _, s := range h.departing() {
			all = append(all, s.process)
		}
		return all
	}
	h := newHead(nil)
	require.Empty(t, names(h))
	h.Degree(0, 1, 0)
	require.Equal(t, asking, h.cut.phase)
	require.Equal(t, []job.Process{p(2), p(1)}, names(h))
	require.Empty(t, h.Leave(p(2), 1, 0), "no process is started for one that is about to be let go")
	h.Degree(0, 2, 0)
	require.Equal(t, []job.Process{p(2)}, names(h))

	h = newHead(func(p, q job.Process) int { return p.Replica - q.Replica })
	h.Degree(0, 2, 0)
	require.Equal(t, []job.Process{p(0)}, names(h))

	h.backups.complete = &backup{number: 1, copies: [][]holder{{{process: p(0), incarnation: 1, stored: true}}}}
	require.Empty(t, names(h), "it holds the last copy of a backup")
	h.backups.complete.copies[0] = append(h.backups.complete.copies[0], holder{process: p(1), incarnation: 1, stored: true})
	require.Equal(t, []job.Process{p(0)}, names(h))
	h.sets.saving.writers = []holder{{process: p(0), incarnation: 1}}
	require.Empty(t, names(h), "it writes its file")

	dying := make(map[job.Process]bool)
	h = NewHead(Config{Degrees: []int{3}, Start: true, Dying: func(p job.Process) bool { return dying[p] }})
	h.Degree(0, 1, 0)
	dying[p(0)] = true
	require.Equal(t, []job.Process{p(2)}, names(h), "one of those that live stays")
	dying[p(2)] = true
	require.Empty(t, names(h), "it is the last one that lives")
}

// Ranks with equally few replicas get another one in the order of the driver.
func TestWhoGetsMore(t *testing.T) {
	vacant := []job.Process{{Rank: 0, Replica: 1}, {Rank: 1, Replica: 1}, {Rank: 2, Replica: 1}}
	h := NewHead(Config{Degrees: []int{2, 2, 2}, Vacant: vacant, Targets: []int{2, 2, 1}, Start: true, Needier: func(a, b int) int { return b - a }})
	for _, s := range h.replicas.slots {
		s.safe = s.alive()
	}
	var order []int
	for _, a := range h.Conclude(0) {
		order = append(order, a.To.Rank)
	}
	require.Equal(t, []int{1, 0}, order)
	acts := h.Degree(1, 1, 0)
	require.Equal(t, Dismiss, acts[0].Kind, "it has no state yet")
	require.Equal(t, job.Process{Rank: 1, Replica: 1}, acts[0].To)
}
