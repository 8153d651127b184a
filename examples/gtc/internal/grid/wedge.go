package grid

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra/comm"
)

// Wedge is the part of the torus that a rank works on. Ranks are numbered by
// wedge first: those of one wedge follow each other, and share its ions.
type Wedge struct {
	Wedges           int // in the torus
	Number           int // of this one
	Domain           int // which of the particle domains of the wedge
	ZetaMin, ZetaMax float64
	Toroidal         *comm.Comm // the ranks of this particle domain, by wedge
	Particles        *comm.Comm // the ranks of this wedge
}

const wedgeTag = 1

// NewWedge cuts the torus for the ranks of a communicator. All of them call
// it.
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

// First and Last say whether the seam is at the lower or upper end.
func (w *Wedge) First() bool { return w.Number == 0 }
func (w *Wedge) Last() bool  { return w.Number == w.Wedges-1 }

// ToRight sends to the next wedge and receives from the one before.
func ToRight[T any](w *Wedge, send, recv []T) error { return pass(w, send, recv, 1) }

// ToLeft sends to the wedge before and receives from the next.
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

// Unrotate turns a plane that crossed the seam upwards, from angle 2π to 0,
// into the coordinates of this side: surface by surface, width values per
// point.
func (g *Grid) Unrotate(plane []float64, width int) { g.turn(plane, width, -1) }

// RotatePlane is the opposite, for a plane that crossed the seam downwards.
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
