package ions

import (
	"fmt"
	"math"
	"slices"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// Shift sends the ions that have left the wedge to the neighbouring wedges. It repeats that
// until all ions are in their own wedge. If old is set, the coordinates at the beginning of
// the step are sent as well.
func (z *Ions) Shift(world *comm.Comm, g *grid.Grid, old bool) error {
	if g.Wedges == 1 {
		return nil
	}
	first := 0 // ions with lower numbers are known to be in their wedge
	for round := 0; ; round++ {
		left, right := z.leaving(g, first)
		if round > 0 {
			n, err := comm.AllreduceValue(world, len(left)+len(right), comm.Sum)
			if err != nil {
				return fmt.Errorf("count the ions on their way: %w", err)
			}
			if n == 0 {
				return nil
			}
			if round > g.Wedges {
				return fmt.Errorf("%d ions found no wedge after %d rounds", n, round)
			}
		}
		toLeft, toRight := z.pack(left, old), z.pack(right, old)
		z.remove(left, right)
		first = z.Len()
		fromLeft, err := send(&g.Wedge, toRight, grid.ToRight[int], grid.ToRight[float64])
		if err != nil {
			return fmt.Errorf("pass ions to the right: %w", err)
		}
		fromRight, err := send(&g.Wedge, toLeft, grid.ToLeft[int], grid.ToLeft[float64])
		if err != nil {
			return fmt.Errorf("pass ions to the left: %w", err)
		}
		z.unpack(fromLeft, old)
		z.unpack(fromRight, old)
	}
}

// leaving returns the ions that are in another wedge, beginning its search with ion first. left and
// right are the directions of the shorter way to that wedge.
func (z *Ions) leaving(g *grid.Grid, first int) (left, right []int) {
	for i, zeta := range z.Now.Zeta[first:] {
		over, above := min(2*math.Pi, zeta)-g.ZetaMax, zeta-g.ZetaMin
		if over*above <= 0 {
			continue
		}
		turns := over * perTurn
		if turns-math.Floor(turns) < 0.5 {
			right = append(right, first+i)
		} else {
			left = append(left, first+i)
		}
	}
	return left, right
}

// travelling returns the arrays that are sent. They include those of Old only if old is
// set.
func (z *Ions) travelling(old bool) []*[]float64 {
	a := z.arrays()
	if old {
		return a[:]
	}
	return a[:6]
}

// pack collects the values of some ions, array by array.
func (z *Ions) pack(which []int, old bool) []float64 {
	var p []float64
	for _, a := range z.travelling(old) {
		for _, i := range which {
			p = append(p, (*a)[i])
		}
	}
	return p
}

// unpack appends ions.
func (z *Ions) unpack(p []float64, old bool) {
	arrays := z.travelling(old)
	n, from := len(p)/len(arrays), z.Len()
	z.resize(from + n)
	for k, a := range arrays {
		copy((*a)[from:], p[k*n:(k+1)*n])
	}
}

// remove removes ions. The last remaining ones move into the gaps.
func (z *Ions) remove(left, right []int) {
	gone := append(slices.Clone(left), right...)
	slices.Sort(gone)
	n := z.Len() - len(gone)
	last := z.Len() - 1
	arrays := z.arrays()
	for i, top := 0, len(gone)-1; i < len(gone) && gone[i] < n; i++ {
		for top >= 0 && gone[top] == last {
			top--
			last--
		}
		for _, a := range arrays {
			(*a)[gone[i]] = (*a)[last]
		}
		last--
	}
	z.resize(n)
}

// send sends an array whose length the receiver does not know.
func send(w *grid.Wedge, p []float64, count func(*grid.Wedge, []int, []int) error, values func(*grid.Wedge, []float64, []float64) error) ([]float64, error) {
	n := []int{0}
	if err := count(w, []int{len(p)}, n); err != nil {
		return nil, err
	}
	q := make([]float64, n[0])
	return q, values(w, p, q)
}
