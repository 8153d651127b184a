package comm

import (
	"fmt"
	"slices"
)

// Group is an ordered set of ranks of the job. Groups are immutable.
type Group struct {
	members []int // ranks in the job
	self    int   // rank of the caller in the job
}

// Group returns the members of c, in their order.
func (c *Comm) Group() *Group {
	if c == nil {
		return &Group{self: Undefined}
	}
	return &Group{members: c.members, self: c.members[c.rank]}
}

// Size returns the number of ranks in g.
func (g *Group) Size() int { return len(g.members) }

// Rank returns the rank of the caller in g, or Undefined.
func (g *Group) Rank() int { return g.find(g.self) }

func (g *Group) find(member int) int {
	if i := slices.Index(g.members, member); i >= 0 {
		return i
	}
	return Undefined
}

// Equal reports whether g and h have the same ranks in the same order.
func (g *Group) Equal(h *Group) bool { return slices.Equal(g.members, h.members) }

// Similar reports whether g and h have the same ranks in any order.
func (g *Group) Similar(h *Group) bool {
	return slices.Equal(slices.Sorted(slices.Values(g.members)), slices.Sorted(slices.Values(h.members)))
}

// Union returns the ranks of g, then those of h that are not in g.
func (g *Group) Union(h *Group) *Group {
	return g.with(append(slices.Clone(g.members), h.Difference(g).members...))
}

// Intersection returns the ranks of g that are in h.
func (g *Group) Intersection(h *Group) *Group {
	return g.filter(func(m int) bool { return slices.Contains(h.members, m) })
}

// Difference returns the ranks of g that are not in h.
func (g *Group) Difference(h *Group) *Group {
	return g.filter(func(m int) bool { return !slices.Contains(h.members, m) })
}

// Include returns the group of these ranks of g, in this order.
func (g *Group) Include(ranks ...int) (*Group, error) {
	members := make([]int, 0, len(ranks))
	for i, r := range ranks {
		if err := g.check(r); err != nil {
			return nil, err
		}
		if slices.Contains(ranks[:i], r) {
			return nil, fmt.Errorf("%w: %d is named twice", ErrRank, r)
		}
		members = append(members, g.members[r])
	}
	return g.with(members), nil
}

// Exclude returns g without the given ranks.
func (g *Group) Exclude(ranks ...int) (*Group, error) {
	out, err := g.Include(ranks...)
	if err != nil {
		return nil, err
	}
	return g.Difference(out), nil
}

// Translate returns, for each of the given ranks of g, the rank of the same process in h. It
// is Undefined if h does not contain the process.
func (g *Group) Translate(h *Group, ranks ...int) ([]int, error) {
	out := make([]int, len(ranks))
	for i, r := range ranks {
		if err := g.check(r); err != nil {
			return nil, err
		}
		out[i] = h.find(g.members[r])
	}
	return out, nil
}

func (g *Group) check(rank int) error {
	if rank < 0 || rank >= len(g.members) {
		return fmt.Errorf("%w: %d of %d", ErrRank, rank, len(g.members))
	}
	return nil
}

func (g *Group) with(members []int) *Group { return &Group{members: members, self: g.self} }

func (g *Group) filter(keep func(member int) bool) *Group {
	var members []int
	for _, m := range g.members {
		if keep(m) {
			members = append(members, m)
		}
	}
	return g.with(members)
}
