package agentd

import (
	"errors"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// Lead contains the data that an agent needs to act as the head after its election.
type Lead struct {
	Term    uint64
	After   arbiter.ID      // the head that has handed over to this one, 0 if the last one is lost
	Before  arbiter.ID      // the head to which this agent was connected last
	State   *decision.State // the decisions so far
	Info    *TakeoverInfo
	Self    arbiter.ID
	Roster  []arbiter.Peer
	Secret  job.Secret
	Rarer   int                // as in NodeConfig
	Start   *spawn.Bootstrap   // of this agent
	Guard   *watchdog.Watchdog // of this agent
	Plan    StartPlan          // of this agent, without processes
	Engine  *arbiter.Engine
	Entered time.Time // when the agent became a node of the arbiter
	Began   time.Time // when all processes had joined; the zero time if they have not

	// Actions delivers the arbiter's further actions. The head has to receive them until it
	// ends.
	Actions <-chan arbiter.Action
	Over    <-chan struct{} // closed when the agent ends

	Arrived func() []*Incoming // returns the agents that have connected to this head since the last call
	Wake    <-chan struct{}    // receives when there may be more agents

	actions chan<- arbiter.Action // the sending end of Actions
	done    chan struct{}         // closed when the head has ended
	code    int                   // exit code of the job, once done is closed
	yielded bool                  // another head has followed, which knows how the job ends; node.mu guards it
}

// Host returns the name of a node's host.
func (l *Lead) Host(id arbiter.ID) string { return l.Info.host(id, l.Roster) }

// begin makes the agent act as the head of the term.
func (n *node) begin(a arbiter.Lead) *Lead {
	actions := make(chan arbiter.Action)
	l := &Lead{Term: a.Term, After: a.After, Before: n.heads.Last(), State: a.State, Info: n.Takeover, Self: n.Self, Roster: n.Roster, Secret: n.bootstrap.Secret,
		Rarer: n.Rarer, Start: n.bootstrap, Guard: n.watchdog, Plan: n.plan, Engine: n.engine, Entered: n.entered, Actions: actions, Over: n.over,
		Arrived: func() []*Incoming { return n.listener.admit(a.Term) }, Wake: n.listener.wake,
		actions: actions, done: make(chan struct{})}
	if a.State.Started {
		l.Began = time.Now().Add(a.Began - lease.Now())
	}
	go func() {
		defer close(l.done)
		l.code = n.head(l)
	}()
	return l
}

// endTime bounds how long an agent that ends waits for the head that it runs.
const endTime = time.Second

// JobError reports a job that ended with an error.
type JobError struct {
	Code int
	Head bool // this agent had become the head
}

// Error returns how the job ended.
func (e *JobError) Error() string {
	if e.Head {
		return fmt.Sprintf("the job, whose head this agent had become, ended with exit code %d", e.Code)
	}
	return fmt.Sprintf("the job ended with exit code %d", e.Code)
}

// outcome stops the search for other heads. If this agent is the head, outcome waits until the
// head has ended. err is the reason why the agent ends. outcome is called once.
func (n *node) outcome(err error) error {
	close(n.over)
	n.mu.Lock()
	lead := n.lead
	yielded := lead != nil && lead.yielded
	n.mu.Unlock()
	if lead == nil {
		return err
	}
	select {
	case <-lead.done:
	case <-time.After(endTime):
		return errors.Join(err, errors.New("this agent, as the head, did not finish in time"))
	}
	if err == nil && lead.code != 0 && !yielded {
		return &JobError{Code: lead.code, Head: true}
	}
	return err
}
