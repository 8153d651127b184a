package comm

import (
	"cmp"
	"fmt"
	"slices"
)

// Dup returns a communicator with the members of c and messages of its own.
// All members call it.
func (c *Comm) Dup() (*Comm, error) {
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("dup: %w", err)
	}
	return c.derive("dup", "dup", c.members)
}

// Split returns a communicator of the members that pass the same color, in the
// order of their keys, then of their ranks. All members call it; one that
// passes Undefined gets nil.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	if color < 0 && color != Undefined {
		return nil, fmt.Errorf("split: %w: color %d", ErrRank, color)
	}
	all := make([][2]int, c.Size())
	if err := Allgather(c, [][2]int{{color, key}}, all); err != nil {
		return nil, fmt.Errorf("split: %w", err)
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
	if color == Undefined {
		c.made["split"]++
		return nil, nil
	}
	return c.derive("split", "split", members)
}

// Create returns a communicator of the members of g. All members of c call it
// with the same g, which is a subset of them; those that are not in g get nil.
func (c *Comm) Create(g *Group) (*Comm, error) {
	if err := c.checkGroup(g); err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	if g.Rank() == Undefined {
		c.made["create"]++
		return nil, nil
	}
	return c.derive("create", "create", g.members)
}

// CreateGroup is Create that only the members of g call, each with the same
// tag. Calls for several groups that overlap are told apart by their tags.
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
	operation := fmt.Sprintf("group %d", tag)
	return c.derive(operation, fmt.Sprint(operation, g.members), g.members)
}

func (c *Comm) checkGroup(g *Group) error {
	if err := c.usable(); err != nil {
		return err
	}
	for _, m := range g.members {
		if m >= len(c.index) || c.index[m] == Undefined {
			return fmt.Errorf("%w: rank %d of the job is not in the communicator", ErrRank, m)
		}
	}
	return nil
}

// derive makes a communicator whose context follows from c, the operation and
// how often it was done; counter names what is counted.
func (c *Comm) derive(operation, counter string, members []int) (*Comm, error) {
	count := c.made[counter]
	c.made[counter]++
	id, line := contextID(c.id, operation, members, count), c.line
	if operation == "dup" {
		line = id
	}
	return newComm(c.engine, id, line, members)
}
