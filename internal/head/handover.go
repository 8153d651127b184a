package head

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
)

// mayHandOver returns why this head cannot hand over to another one, nil if it can.
func (ls *leaves) mayHandOver() error {
	if !ls.config.Replicated {
		return fmt.Errorf("%w: the head is there, and no other host keeps its decisions: that takes three hosts", ErrStays)
	}
	for _, id := range ls.state.Members {
		if _, lost := ls.state.Lost[id]; id != ls.config.Self && id != FirstHead && !lost && !ls.state.Leaves(id) {
			return nil
		}
	}
	return fmt.Errorf("%w: the head is there, and no host that stays keeps its decisions", ErrStays)
}

// here returns the nodes of this head's host: that of its agent, or of this head if it has none,
// and those that have joined the running job and are not lost.
func (ls *leaves) here() []detect.ID {
	nodes := []detect.ID{cmp.Or(ls.config.Home, ls.config.Self)}
	for _, id := range ls.config.Beside {
		if _, lost := ls.state.Lost[id]; !lost && ls.config.node(id) != nil {
			nodes = append(nodes, id)
		}
	}
	return nodes
}

// handOver proposes that this head hands over. It does so once its host is to leave and has no
// process left, or once the time for that is over. Unless the time is over, a cut or rollback
// under way is finished first: a successor would have to find out how far it has got.
func (ls *leaves) handOver() {
	i := slices.IndexFunc(ls.state.Leaving, func(l decision.Leave) bool {
		return l.Node != 0 && (l.Node == ls.config.Home || l.Node == ls.config.Self)
	})
	if i < 0 || ls.handsOver || ls.mayHandOver() != nil {
		return
	}
	l := ls.state.Leaving[i]
	late := l.Until > 0 && ls.elapsed() >= l.Until
	stays := func(id detect.ID) bool { return ls.state.Leaves(id) && !ls.state.HasLeft(id) } // Done is not enough: a process may have been placed there since
	if slices.ContainsFunc(append(ls.here(), l.Node), stays) && !late {
		return
	}
	d, q := ls.recovery.decides, ls.recovery
	busy := len(ls.desk.asked) > 0 || q.keeping || len(q.events) > 0 || d != nil && d.Busy()
	if busy && !late {
		return
	}
	ls.handsOver = true
	ls.propose(decision.Entry{Kind: decision.Resigned, Node: ls.config.Self, Text: l.Reason})
}

// handedOver acts on the kept decision that this head hands over. It remains the head until
// the driver answers Retired.
func (ls *leaves) handedOver() {
	if ls.phase > working { // the job ends here
		return
	}
	ls.gone = true
	ls.detailf("another host becomes the head")
	ls.act(HandOver{})
}
