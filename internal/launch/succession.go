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

// resumeComeback goes on with the decisions of a head before, and returns what
// is to be done at once.
func (h *head) resumeComeback(p recovery.Past, dead []recovery.Death, rest bool) (*comeback, []recovery.Action) {
	c := h.comeback()
	var acts []recovery.Action
	c.decides, acts = recovery.Resume(c.plan(), p, dead, rest, h.elapsed())
	return c, acts
}

// tell tells those who decide of an event, and does what they want.
func (c *comeback) tell(event func() []recovery.Action) {
	if c.keeping {
		c.events = append(c.events, event)
		return
	}
	c.apply(event())
}

// catchUp tells of the events that had to wait.
func (c *comeback) catchUp() {
	if len(c.events) == 0 {
		return
	}
	for !c.keeping && len(c.events) > 0 {
		event := c.events[0]
		c.events = c.events[1:]
		c.apply(event())
	}
	c.settle()
	c.releaseIfComplete()
}

// enlarge has it kept that processes are replaced: a head that comes after that
// knows that it does not know who they are.
func (c *comeback) enlarge() {
	if c.asks {
		return
	}
	c.asks = true
	c.decide(arbiter.Entry{Kind: arbiter.Note, Key: replacedNote, Value: []byte("replaced")}, func() {
		if c.may = true; c.record != nil {
			c.warnf("from now on the job ends if its head is lost, since a process is replaced")
		}
		for _, p := range slices.SortedFunc(maps.Keys(c.due), job.Process.Compare) {
			c.recruit(p)
		}
	})
}
