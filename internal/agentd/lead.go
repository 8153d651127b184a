package agentd

import (
	"time"

	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
)

// Lead is what an agent has when it is elected to be the head.
type Lead struct {
	Term    uint64
	State   *decision.State // what has been decided
	Info    *TakeoverInfo
	Self    arbiter.ID
	Roster  []arbiter.Peer
	Secret  job.Secret
	Engine  *arbiter.Engine
	Entered time.Time // when the agent became a node of the arbiter
	Began   time.Time // when all had joined, the zero time if they have not

	// Actions are what the arbiter says from now on. They have to be taken until
	// the head ends.
	Actions <-chan arbiter.Action
	Over    <-chan struct{} // closed when the agent ends

	Arrived func() []*Incoming // the agents that have come to this head since the last call
	Wake    <-chan struct{}    // receives when there may be more of them
}

// Host names the host of a node.
func (l *Lead) Host(id arbiter.ID) string { return l.Info.host(id, l.Roster) }

// reign is an agent as the head.
type reign struct {
	actions chan arbiter.Action
	done    chan struct{}
	code    int // how the job has ended, once done
}

// begin has the agent be the head from here on.
func (f *follower) begin(a arbiter.Lead) *reign {
	r := &reign{actions: make(chan arbiter.Action), done: make(chan struct{})}
	l := &Lead{Term: a.Term, State: a.State, Info: f.info, Self: f.self, Roster: f.roster, Secret: f.server.listener.bootstrap.Secret,
		Engine: f.server.holder.engine, Entered: f.entered, Actions: r.actions, Over: f.over,
		Arrived: func() []*Incoming { return f.server.listener.admit(a.Term) }, Wake: f.server.listener.wake}
	if a.State.Started {
		l.Began = time.Now().Add(a.Began - lease.Now())
	}
	go func() {
		defer close(r.done)
		r.code = f.server.takeover(l)
	}()
	return r
}
