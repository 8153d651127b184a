package launch

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// What recovery decides is kept for another head before it is done, until
// processes are replaced.

// resumeRecoveryDriver goes on with the decisions of a head before, and returns what
// is to be done at once.
func (h *head) resumeRecoveryDriver(p recovery.Past, f recovery.Fate) (*recoveryDriver, []recovery.Action) {
	c := h.recoveryDriver()
	var acts []recovery.Action
	c.decides, acts = recovery.Resume(c.plan(), p, f, h.elapsed())
	return c, acts
}

// tell tells those who decide of an event, and does what they want: at once,
// or when something has been kept, or when what an event before it led to has
// been done, if it is part of that.
func (c *recoveryDriver) tell(event func() []recovery.Action) {
	c.events = append(c.events, event)
	c.catchUp()
}

// perform does what was decided, all of it before the next event.
func (c *recoveryDriver) perform(acts []recovery.Action) {
	if c == nil {
		return
	}
	was := c.acting
	c.acting = true
	c.apply(acts)
	c.acting = was
	c.catchUp()
}

// catchUp tells of the events that wait, and draws the conclusions.
func (c *recoveryDriver) catchUp() {
	for !c.keeping && !c.acting {
		if len(c.events) == 0 {
			c.settle()
			c.releaseIfComplete()
			return
		}
		event := c.events[0]
		c.events = c.events[1:]
		c.acting = true
		c.apply(event())
		c.acting = false
	}
}

// enlarge has it kept that processes are replaced: a head that comes after that
// knows that it does not know who they are.
func (c *recoveryDriver) enlarge() {
	if c.asks {
		return
	}
	c.asks = true
	c.decide(arbiter.Entry{Kind: arbiter.Note, Key: replacedNote, Value: []byte("replaced")}, func() {
		if c.may = true; c.record != nil {
			c.warnf("from now on losing the head ends the job, because a process is being replaced")
		}
		for _, p := range slices.SortedFunc(maps.Keys(c.due), job.Process.Compare) {
			c.recruit(p)
		}
	})
}
