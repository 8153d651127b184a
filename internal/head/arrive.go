package head

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/recovery"
)

// A host that joins the running job offers room for replacements and spares once the decision to
// admit it is kept. A process of the job learns of the host only when it gets a peer there.

// ErrNoHost marks a host that cannot join.
var ErrNoHost = errors.New("the host cannot join the job")

// MayJoin returns why a host of that name cannot join now, nil if it can.
func (h *Head) MayJoin(name string) error {
	switch {
	case h.phase > working || h.retired || h.state.Ending != nil:
		return fmt.Errorf("%w: it ends", ErrNoHost)
	case h.leaves.handsOver:
		return fmt.Errorf("%w: another host becomes its head", ErrNoHost)
	case !h.config.replaces():
		return fmt.Errorf("%w: it starts no processes while it runs; -replace or -spares allows that", ErrNoHost)
	}
	taken := func(other string, id detect.ID) bool {
		_, lost := h.state.Lost[id]
		return other == name && !lost
	}
	if slices.ContainsFunc(h.config.Nodes, func(n Node) bool { return taken(n.Name, n.ID) }) ||
		slices.ContainsFunc(h.asked, func(e decision.Entry) bool { return e.Host != nil && taken(e.Host.Name, e.Host.Node) }) {
		return fmt.Errorf("%w: it has a host %s already; -name gives this one another name", ErrNoHost, name)
	}
	return nil
}

// arrives proposes that a host joins.
func (h *Head) arrives(e HostArrives) {
	if h.MayJoin(e.Host.Name) == nil {
		if e.Beside {
			h.config.Beside = append(h.config.Beside, e.Host.Node)
		}
		h.propose(decision.Entry{Kind: decision.HostJoined, Host: &e.Host})
	}
}

// hostJoined acts on the kept decision that a host has joined.
func (h *Head) hostJoined(host *decision.Host) {
	if !h.config.enter(host) {
		return
	}
	h.warnf("host %s has joined the job, with room for %d processes", host.Name, host.Slots)
	h.act(Admit{*host})
	if h.noticed && !h.leaves.interrupts && slices.Contains(h.config.Beside, host.Node) { // the notice came while this was being decided
		h.leaveWithHead(host.Node)
	}
	h.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Room(now) })
}

// enter adds a host that has joined to the nodes of c. It returns false if the host is there
// already.
func (c *Config) enter(host *decision.Host) bool {
	if c.node(host.Node) != nil {
		return false
	}
	c.Nodes = append(slices.Clip(c.Nodes), Node{ID: host.Node, Name: host.Name, Rack: host.Rack, Slots: host.Slots, Listen: host.ListenAt()})
	return true
}

// joins returns the hosts that have joined, for the report.
func (h *Head) joins() []runreport.Join {
	all := []runreport.Join{}
	for _, x := range h.state.Hosts {
		all = append(all, runreport.Join{Host: x.Name, Slots: x.Slots, At: x.At.Seconds()})
	}
	return all
}
