package head

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// arrive makes a host ready to join the job. It may be lost before that is decided.
func (w *world) arrive() {
	a := &agent{w: w, node: FirstHead + 1 + detect.ID(len(w.agents)), absent: true, lost: true, doomed: w.random.IntN(4) == 0}
	w.agents = append(w.agents, a)
	w.seen["a host is ready to join"]++
	if w.random.IntN(3) == 0 {
		a.beside = w.head.config.Home
	}
	w.step(HostArrives{Host: w.newcomer(a), Beside: a.beside != 0})
}

// checkBeside checks that a head whose host leaves hands over only after the hosts that have joined
// on the same machine have left.
func (w *world) checkBeside(l decision.Leave) {
	for _, h := range w.state.Hosts {
		a := w.agent(h.Node)
		switch {
		case a.beside != w.head.config.Home || a.lost:
		case w.state.Leaves(a.node) && !w.state.HasLeft(a.node):
			w.failf("the head hands over, and host %d beside it has processes", a.node)
		case l.Reason == "SIGTERM to intrarun" && h.At < l.At && !w.state.Leaves(a.node):
			w.failf("the head hands over, and host %d beside it was not to leave", a.node)
		case w.state.Leaves(a.node):
			w.seen["a head hands over, and a host beside it leaves"]++
		}
	}
}

// turnAway loses the hosts that wait for a head that is lost. If the decision to admit a host is
// kept, the host is declared lost.
func (w *world) turnAway() {
	for _, a := range w.agents {
		if !a.absent {
			continue
		}
		a.absent = false
		w.seen["a head is lost while a host joins"]++
		if w.kept(a) {
			w.seen["a head is lost after a host has joined"]++
			w.losing = append(w.losing, a.node)
		}
	}
}

// kept reports whether the decision that a host joins is kept.
func (w *world) kept(a *agent) bool {
	return slices.ContainsFunc(w.state.Hosts, func(h decision.Host) bool { return h.Node == a.node })
}

func (w *world) newcomer(a *agent) decision.Host {
	return decision.Host{Node: a.node, Name: fmt.Sprint("h", a.node-FirstHead), Slots: 2, Listen: "host", Beats: "host:1"}
}

// admit makes a host a part of the job.
func (w *world) admit(a *agent) {
	if !a.absent {
		w.failf("host %d joins twice", a.node)
	}
	a.absent, a.lost = false, false
	if a.doomed {
		w.seen["a host joins and is lost at once"]++
		w.loseHost(a)
	}
}

// checkNewcomers counts what happens on hosts that have joined.
func (w *world) checkNewcomers(v *decision.Place, relieves bool) {
	switch joined := int(v.Node-FirstHead) > w.spec.nodes; {
	case joined && relieves:
		w.seen["a process moves to a host that has joined"]++
	case joined:
		w.seen["a process is replaced on a host that has joined"]++
	}
}

// late reports whether a process was started as a spare of the running job.
func (w *world) late(id job.Process) bool { return id.Rank >= len(w.spec.degrees)+w.spec.spares }

// checkSpare checks that a late spare does not exceed the number of spares, and that no earlier
// spare on its host has ended without a slot. It counts the late spares that get a slot.
func (w *world) checkSpare(e decision.Entry) {
	if !e.Spare {
		w.seen["a late spare gets a slot"]++
		return
	}
	w.seen["a spare is started on a host that has joined"]++
	used := make(map[job.Process]bool)
	for _, p := range w.state.Former {
		used[p.ID] = true
	}
	for p, at := range w.state.Places {
		used[at.ID], used[w.state.Reliefs[p].ID] = true, true
	}
	waiting, lost := 0, w.state.Lost[e.Node].Text != "" // the host may have been lost since
	for id, at := range w.state.Spares {
		switch {
		case at.Status == decision.Running:
			waiting++
		case at.Node == e.Node && !used[id] && !lost:
			w.failf("%v is started on host %d, where spare %v has ended", e.ID, e.Node, id)
		}
	}
	if waiting >= w.spec.spares {
		w.failf("%v is started, and %d spares wait", e.ID, waiting)
	}
}

// A host can join once under its name, if the job can use it.
func TestHostsThatMayJoin(t *testing.T) {
	newHead := func(replace bool) *Head {
		h := New(Config{Degrees: []int{1}, Nodes: []Node{{ID: 2, Name: "h1", Slots: 1}}, Of: map[job.Process]detect.ID{{}: 2}, Replace: replace, Self: FirstHead})
		for _, a := range h.Step(Begin{}, 0) {
			if p, ok := a.(Propose); ok {
				h.Step(Committed(p), 0)
			}
		}
		return h
	}
	require.ErrorContains(t, newHead(false).MayJoin("h2"), "-replace or -spares allows that")
	h := newHead(true)
	require.ErrorContains(t, h.MayJoin("h1"), "has a host h1 already")
	require.NoError(t, h.MayJoin("h2"))
	acts := h.Step(HostArrives{Host: decision.Host{Node: 3, Name: "h2", Slots: 2, Listen: "10.0.0.2", Beats: "10.0.0.2:7"}}, time.Second)
	require.Len(t, acts, 1)
	require.ErrorContains(t, h.MayJoin("h2"), "has a host h2 already", "it is being decided")
	kept := acts[0].(Propose).Entry
	acts = h.Step(Committed{kept}, time.Second)
	require.Contains(t, acts, Admit{*kept.Host})
	require.Equal(t, "10.0.0.2:0", h.Hosts()[1].Listen)
	require.Len(t, h.Summary().Recovery.Joins, 1)
	h.Step(Committed{decision.Entry{Kind: decision.Lost, Node: 3, Text: "silent"}}, 2*time.Second)
	require.NoError(t, h.MayJoin("h2"), "it comes back under its name")
}

// A host that is about to join on the machine of a head that leaves also leaves. One on
// another machine stays.
func TestHostThatJoinsWhileItsMachineLeaves(t *testing.T) {
	for _, beside := range []bool{true, false} {
		t.Run(fmt.Sprint("beside ", beside), func(t *testing.T) {
			s := begun(t, "degrees=2", "hosts=3", "replace")
			c := &s.head.config
			c.Home, c.Drain, c.Replicated = c.Nodes[0].ID, true, true
			s.state.Members, s.head.state.Members = []detect.ID{2, 3, 4}, []detect.ID{2, 3, 4}
			joins := decision.Host{Node: 5, Name: "h4", Slots: 1}
			s.step(HostArrives{Host: joins, Beside: beside})
			s.commands("signal TERM", "keep")
			require.True(t, s.state.Leaves(c.Home))
			require.Equal(t, beside, s.state.Leaves(joins.Node))
		})
	}
}
