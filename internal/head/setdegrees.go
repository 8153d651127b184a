package head

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/recovery"
)

// In a job with ranges of replicas (Config.Least) the user may set how many replicas a rank is
// to have. The head decides whether the hosts have room. Recovery then admits more replicas at a
// cut, or lets some go.

// ErrDegrees marks numbers of replicas that ranks cannot have.
var ErrDegrees = errors.New("the numbers of replicas stay as they are")

// MayDegrees returns why ranks cannot have these numbers of replicas, nil if they can.
func (h *Head) MayDegrees(degrees map[int]int) error {
	switch {
	case h.phase != working || !h.hasBegun || h.retired || h.state.Ending != nil:
		return fmt.Errorf("%w: the job has not begun, or ends", ErrDegrees)
	case h.config.Least == nil:
		return fmt.Errorf("%w: they are fixed in this job; with -r MIN..MAX, or ranges in -degrees like 1..2,1, they can change", ErrDegrees)
	}
	for _, rank := range slices.Sorted(maps.Keys(degrees)) {
		if err := h.mayHave(rank, degrees[rank]); err != nil {
			return fmt.Errorf("%w: %w", ErrDegrees, err)
		}
	}
	if err := h.roomForAll(degrees); err != nil {
		return fmt.Errorf("%w: %w", ErrDegrees, err)
	}
	return nil
}

// mayHave returns the reason why a rank cannot have n replicas on any hosts, or nil if it can.
func (h *Head) mayHave(rank, n int) error {
	c, d := &h.config, h.recovery.decides
	switch {
	case rank < 0 || rank >= len(c.Degrees):
		return fmt.Errorf("there is no rank %d: the ranks are 0 to %d", rank, len(c.Degrees)-1)
	case n < c.Least[rank] || n > c.Degrees[rank]:
		return fmt.Errorf("rank %d: %d is outside of its range of %d..%d replicas, which -r or -degrees has set", rank, n, c.Least[rank], c.Degrees[rank])
	case d == nil || !d.Reached(rank):
		return fmt.Errorf("rank %d has reached no safe point yet (Process.SafePoint), and replicas join and leave only there", rank)
	case d.Rests():
		return errors.New("a rank has finished, so there are no more safe points at which replicas join and leave")
	}
	return nil
}

// roomForAll returns an error if the hosts lack room for the replicas that are to be added.
// Ranks that get fewer replicas make room.
func (h *Head) roomForAll(degrees map[int]int) error {
	need, free := 0, h.members.spares()
	for rank, n := range degrees {
		if more := n - h.taken(rank); more > 0 {
			need += more
		} else {
			free -= more
		}
	}
	used := h.members.used()
	var full []string
	for i := range h.config.Nodes {
		n := &h.config.Nodes[i]
		if h.members.stays(n.ID) {
			free += max(0, n.Slots-used[n.ID])
			full = append(full, fmt.Sprintf("%s has %d of %d slots in use", n.Name, used[n.ID], n.Slots))
		}
	}
	if need == 0 || need <= free {
		return nil
	}
	const few = 8
	if len(full) > few {
		full = append(full[:few], fmt.Sprintf("and %d more hosts", len(full)-few))
	}
	return fmt.Errorf("there is room for %d of the %d replicas to be added (%s): let a host join (intrarun grow or intrarun join), or give another rank fewer replicas", free, need, strings.Join(full, ", "))
}

// setDegrees proposes how many replicas ranks are to have.
func (h *Head) setDegrees(e SetDegrees) {
	if h.phase <= working && h.config.Least != nil && len(e.Degrees) > 0 {
		h.propose(decision.Entry{Kind: decision.Degrees, Degrees: e.Degrees, Text: e.Reason})
	}
}

// degreesSet acts on the kept decision about numbers of replicas.
func (h *Head) degreesSet(e decision.Entry) {
	for _, rank := range slices.Sorted(maps.Keys(e.Degrees)) {
		n := e.Degrees[rank]
		h.warnf("the number of replicas of rank %d is to be %d (%s)", rank, n, e.Text)
		h.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Degree(rank, n, now) })
	}
}

// taken returns the number of replicas of a rank that live, or are expected.
func (h *Head) taken(rank int) (n int) {
	for m := range h.members.replicas(rank) {
		if _, wanted := h.members.wanted[m.process]; wanted || m.state < dismissed {
			n++
		}
	}
	return n
}
