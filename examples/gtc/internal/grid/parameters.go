package grid

import (
	"errors"
	"fmt"
	"math"
)

// Size holds the parameters of a run that the user can choose.
type Size struct {
	IonsPerCell       int // ions for each point of the grid
	Surfaces          int // number of surfaces of constant radius, minus one; even
	MaxTheta          int // approximate number of poloidal points of the outermost surface
	MaxZeta           int // toroidal planes
	ParticleDomains   int // ranks that share the ions of one wedge
	DiagnosisInterval int // steps from one diagnosis to the next
}

// Check returns an error if the size cannot be run on the given number of ranks.
func (s Size) Check(ranks int) error {
	switch {
	case s.IonsPerCell < 1:
		return errors.New("at least one ion per cell is needed")
	case s.Surfaces < 10 || s.Surfaces%2 != 0:
		return fmt.Errorf("%d surfaces: want an even number, at least 10", s.Surfaces)
	case s.MaxTheta < 8:
		return fmt.Errorf("%d poloidal points: want at least 8", s.MaxTheta)
	case s.ParticleDomains < 1 || ranks%s.ParticleDomains != 0:
		return fmt.Errorf("%d particle domains do not divide %d ranks", s.ParticleDomains, ranks)
	case s.MaxZeta < 1 || s.MaxZeta%(ranks/s.ParticleDomains) != 0:
		return fmt.Errorf("%d toroidal planes cannot be shared by %d wedges: want a multiple", s.MaxZeta, ranks/s.ParticleDomains)
	case s.DiagnosisInterval < 1:
		return errors.New("the interval of diagnosis must be at least 1")
	}
	return nil
}

// Plasma is the equilibrium: a large tokamak with circular surfaces.
type Plasma struct {
	Minor          float64 // minor radius
	Inner, Outer   float64 // radii of the first and the last surface
	Q              [3]float64
	KappaT, KappaN float64 // inverse lengths of the gradients of temperature and density
	Centre         float64 // radius where the gradients are steepest
	Steepness      float64 // inverse width of that region
	TiTe           float64 // temperature of ions divided by that of electrons
	Gyroradius     float64 // of a thermal ion, which is also its speed
	MaxSpeed       float64 // of a loaded ion in each direction, in thermal speeds
	TimeStep       float64
	DampedSurfaces int // number at each end
}

// Cyclone returns the plasma of the benchmark, the Cyclone base case.
func Cyclone() Plasma {
	const (
		majorRadius = 93.2    // cm
		field       = 19100.0 // gauss
		temperature = 2500.0  // eV
		step        = 0.15    // in L_T/v_th
	)
	p := Plasma{
		Minor: 0.358, Q: [3]float64{0.854, 0, 2.184},
		KappaT: 6.9, KappaN: 2.2, TiTe: 1, MaxSpeed: 4, DampedSurfaces: 4,
	}
	p.Inner, p.Outer = float64(0.1*p.Minor), float64(0.9*p.Minor)
	p.Centre = 0.5 * (p.Inner + p.Outer)
	p.Steepness = 1 / (0.35 * (p.Outer - p.Inner))
	p.Gyroradius = 102 * math.Sqrt(temperature) / field / majorRadius
	p.TimeStep = step / (p.Gyroradius * p.KappaT)
	return p
}

// Safety returns the safety factor q at radius r: the turns of a field line
// around the torus for one turn around the surface.
func (p *Plasma) Safety(r float64) float64 {
	x := r / p.Minor
	return p.Q[0] + float64(p.Q[1]*x) + float64(float64(p.Q[2]*x)*x)
}

// Bins is the number of radial bins of the diagnostics.
const Bins = 5

// Bin returns the radial bin of radius r.
func (p *Plasma) Bin(r float64) int {
	return max(0, min(Bins-1, int((r-p.Inner)*(Bins/(p.Outer-p.Inner)))))
}
