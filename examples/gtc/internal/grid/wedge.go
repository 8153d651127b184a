package grid

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra/comm"
)

// Wedge is the part of the torus that belongs to a rank. The ranks of one wedge have
// consecutive numbers, and share its ions.
type Wedge struct {
	Wedges           int // number of wedges in the torus
	Number           int // number of this wedge
	Domain           int // number of the particle domain in the wedge
	ZetaMin, ZetaMax float64
	Toroidal         *comm.Comm // the ranks of this particle domain, by wedge
	Particles        *comm.Comm // the ranks of this wedge
}

const wedgeTag = 1

// NewWedge divides the torus among the ranks of a communicator. All of them must call it.
func NewWedge(world *comm.Comm, domains int) (Wedge, error) {
	w := Wedge{Wedges: world.Size() / domains, Number: world.Rank() / domains, Domain: world.Rank() % domains}
	w.cut()
	var err error
	if w.Particles, err = world.Split(w.Number, w.Domain); err != nil {
		return w, fmt.Errorf("gather the ranks of a wedge: %w", err)
	}
	if w.Toroidal, err = world.Split(w.Domain, w.Number); err != nil {
		return w, fmt.Errorf("gather the ranks of a particle domain: %w", err)
	}
	return w, nil
}

func (w *Wedge) cut() {
	w.ZetaMin = 2 * math.Pi * float64(w.Number) / float64(w.Wedges)
	w.ZetaMax = 2 * math.Pi * float64(w.Number+1) / float64(w.Wedges)
}

// First and Last report whether the seam is at the lower or upper end of the wedge.
func (w *Wedge) First() bool { return w.Number == 0 }
func (w *Wedge) Last() bool  { return w.Number == w.Wedges-1 }

// ToRight sends to the next wedge and receives from the previous one.
func ToRight[T any](w *Wedge, send, recv []T) error { return pass(w, send, recv, 1) }

// ToLeft sends to the previous wedge and receives from the next one.
func ToLeft[T any](w *Wedge, send, recv []T) error { return pass(w, send, recv, -1) }

func pass[T any](w *Wedge, send, recv []T, by int) error {
	if w.Wedges == 1 {
		copy(recv, send)
		return nil
	}
	to, from := (w.Number+by+w.Wedges)%w.Wedges, (w.Number-by+w.Wedges)%w.Wedges
	if _, err := comm.Sendrecv(w.Toroidal, send, to, wedgeTag, recv, from, wedgeTag); err != nil {
		return fmt.Errorf("exchange with the wedges %d and %d: %w", to, from, err)
	}
	return nil
}

// Unrotate converts a plane that crossed the seam upwards, from angle 2π to 0, into the
// coordinates of this side. There are width values per point.
func (g *Grid) Unrotate(plane []float64, width int) { g.turn(plane, width, -1) }

// RotatePlane is the inverse of Unrotate, for a plane that crossed the seam downwards.
func (g *Grid) RotatePlane(plane []float64, width int) { g.turn(plane, width, 1) }

func (g *Grid) turn(plane []float64, width, sign int) {
	var tmp []float64
	for i := range g.Surface {
		lo, hi := g.Range(i)
		ring := plane[lo*width : hi*width]
		by := width * (((sign*g.Rotate[i])%(hi-lo) + (hi - lo)) % (hi - lo))
		tmp = append(append(tmp[:0], ring[by:]...), ring[:by]...)
		copy(ring, tmp)
	}
}
