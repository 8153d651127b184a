package comm

import (
	"cmp"
	"fmt"
	"slices"
)

// Dup returns a communicator with the same members as c. A message sent on one of the two is never
// received on the other. All members call it.
func (c *Comm) Dup() (*Comm, error) {
	if err := c.exists(); err != nil {
		return nil, fmt.Errorf("dup: %w", err)
	}
	return c.derive(opDup, c.members)
}

// Split returns a communicator of the members that pass the same color, in the order of
// their keys, then of their ranks. All members call it. A member that passes Undefined gets
// nil.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := c.exists(); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	if color < 0 && color != Undefined {
		return nil, fmt.Errorf("split: %w: color %d", ErrRank, color)
	}
	if c.engine.Restored() {
		if color == Undefined {
			return c.without(opSplit)
		}
		return c.derive(opSplit, nil)
	}
	all := make([][2]int, c.Size())
	s, err := planAllgather(c, [][2]int{{color, key}}, all)
	if err == nil {
		s.script.Purpose = purpose(split, 0, 0)
	}
	if err = c.run(split, s, err); err != nil {
		return nil, err
	}
	if color == Undefined {
		return c.without(opSplit)
	}
	var ranks []int
	for r, ck := range all {
		if ck[0] == color {
			ranks = append(ranks, r)
		}
	}
	slices.SortStableFunc(ranks, func(a, b int) int { return cmp.Compare(all[a][1], all[b][1]) })
	members := make([]int, len(ranks))
	for i, r := range ranks {
		members[i] = c.members[r]
	}
	return c.derive(opSplit, members)
}

// Create returns a communicator of the members of g. All members of c call it with the same
// g, which is a subset of them. Members that are not in g get nil.
func (c *Comm) Create(g *Group) (*Comm, error) {
	if err := c.checkGroup(g); err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	if g.Rank() == Undefined {
		return c.without(opCreate)
	}
	return c.derive(opCreate, g.members)
}

// CreateGroup is like Create, but only the members of g call it, all with the same tag. The
// tags distinguish calls for groups that overlap.
func (c *Comm) CreateGroup(g *Group, tag int) (*Comm, error) {
	if err := c.checkGroup(g); err != nil {
		return nil, fmt.Errorf("create group: %w", err)
	}
	if tag < 0 || tag > MaxTag {
		return nil, fmt.Errorf("create group: %w: %d", ErrTag, tag)
	}
	if g.Rank() == Undefined {
		return nil, fmt.Errorf("create group: %w: the caller is not in the group", ErrRank)
	}
	return c.derive(fmt.Sprintf("group %d", tag), g.members)
}

func (c *Comm) checkGroup(g *Group) error {
	if err := c.exists(); err != nil {
		return err
	}
	for _, m := range g.members {
		if m >= len(c.index) || c.index[m] == Undefined {
			return fmt.Errorf("%w: rank %d of the job is not in the communicator", ErrRank, m)
		}
	}
	return nil
}

// derive makes a communicator. Its context id follows from c, the operation, and the number
// of such operations so far. In a restored process derive returns a communicator from
// before the safe point.
func (c *Comm) derive(operation string, members []int) (*Comm, error) {
	o := origin{parent: c, operation: operation, members: members}
	counter := o.counter()
	if c.engine.Restored() {
		sub, err := c.recall(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
		return sub, nil
	}
	o.count = c.made[counter]
	c.made[counter]++
	domain := c.domain
	if operation == opDup {
		domain = o.id()
	}
	return c.family.make(o, domain)
}

// without counts an operation that made no communicator at this rank.
func (c *Comm) without(operation string) (*Comm, error) {
	if !c.engine.Restored() {
		c.made[operation]++
	}
	return nil, nil
}
