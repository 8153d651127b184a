package flow

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// Cube is the part of the flow that belongs to a rank.
type Cube struct {
	Gas
	p     *intra.Process
	tasks int
	slabs

	// U and R are the solution and its change in planes. R has the planes of the rank. U
	// also has the planes next to them.
	U, R []State
	// Columns and Changes are the solution and its change in columns. Between two steps
	// Columns is the solution.
	Columns, Changes []State

	forcing []State // in the planes of the rank
}

// NewCube returns the part of this rank. The forcing is chosen so that the exact solution
// does not change.
func NewCube(p *intra.Process, set nas.Settings, g Gas) (*Cube, error) {
	c := &Cube{Gas: g, p: p, tasks: set.Tasks, slabs: slabs{c: p.World(), n: g.N}}
	if p.Size() > g.N {
		return nil, fmt.Errorf("%d ranks do not fit: class %v has %d planes", p.Size(), set.Class, g.N)
	}
	lo, hi := c.seen(p.Rank())
	c.Columns, c.Changes = intra.Alloc[State](g.N*c.width(p.Rank())), intra.Alloc[State](g.N*c.width(p.Rank()))
	if c.U, c.R = c.Columns, c.Changes; p.Size() > 1 {
		c.U, c.R = intra.Alloc[State]((hi-lo)*g.N*g.N), intra.Alloc[State](len(c.Changes))
	}

	c.forcing = make([]State, len(c.Changes))
	g.fill(c.U, exact, 0, lo, g.N)
	still := g
	still.Dt = -1
	first, _ := c.own(p.Rank())
	findSide(still, c.U, make([]State, len(c.forcing)), lo, first, c.forcing)
	return c, nil
}

// fill sets points to a function of their position. The points are in rows of equal y and
// z. The first row has the given y and z, and lines rows have the same z.
func (g Gas) fill(u []State, f func(at [3]float64) State, y, z, lines int) {
	for i := range u {
		line := i / g.N
		u[i] = f(g.At(i%g.N, y+line%lines, z+line/lines))
	}
}

// Begin sets the solution to the initial state.
func (c *Cube) Begin() {
	lo, hi := c.own(c.p.Rank())
	c.fill(c.Columns, initial, lo, 0, hi-lo)
}

// Own returns the first plane of this rank in the cube, and its planes in U.
func (c *Cube) Own() (first int, u []State) {
	base, _ := c.seen(c.p.Rank())
	first, end := c.own(c.p.Rank())
	plane := c.N * c.N
	return first, c.U[(first-base)*plane : (end-base)*plane]
}

// Lines returns the number of lines along z in the columns, and the y of the first ones in
// the cube.
func (c *Cube) Lines() (n, y int) {
	y, _ = c.own(c.p.Rank())
	return c.width(c.p.Rank()), y
}

// FindSide sets R to the right-hand side of a step.
func (c *Cube) FindSide() error {
	if c.p.Size() > 1 {
		if err := c.toPlanes(c.Columns, c.U); err != nil {
			return err
		}
	}
	c.findSide()
	return nil
}

// Turn sets Changes, in columns, to R.
func (c *Cube) Turn() error {
	if c.p.Size() == 1 {
		return nil
	}
	return c.toColumns(c.R, c.Changes)
}

// Norms are the values that are verified: for each component the root of the mean square.
type Norms struct {
	Residual State `json:"residual"`
	Error    State `json:"error"`
}

// Print writes the norms as text for people.
func (n Norms) Print(w io.Writer) {
	for m := range n.Residual {
		fmt.Fprintf(w, "component %d  residual %.13e  error %.13e\n", m+1, n.Residual[m], n.Error[m])
	}
}

// Norms returns the norms of the solution.
func (c *Cube) Norms() (n Norms, err error) {
	if err := c.FindSide(); err != nil {
		return n, err
	}
	if n.Residual, err = c.norm(c.R); err != nil {
		return n, err
	}
	for m := range n.Residual {
		n.Residual[m] /= c.Dt
	}
	lo, hi := c.own(c.p.Rank())
	difference := make([]State, len(c.Columns))
	c.fill(difference, exact, lo, 0, hi-lo)
	for i, s := range c.Columns {
		for m, v := range s {
			difference[i][m] = v - difference[i][m]
		}
	}
	n.Error, err = c.norm(difference)
	return n, err
}

// norm returns the root of the mean square over the points of all ranks.
func (c *Cube) norm(x []State) (State, error) {
	sums := c.square(x)
	var all State
	if err := comm.Allreduce(c.p.World(), sums[:], all[:], comm.Sum); err != nil {
		return all, fmt.Errorf("add up squares: %w", err)
	}
	return c.root(all), nil
}

// tolerance is the maximum relative error of each norm.
const tolerance = 1e-8

// Match reports whether these norms are right within the tolerance.
func (n Norms) Match(right Norms) bool {
	for m := range n.Residual {
		if !nas.Close(n.Residual[m], right.Residual[m], tolerance) || !nas.Close(n.Error[m], right.Error[m], tolerance) {
			return false
		}
	}
	return true
}
