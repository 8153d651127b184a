package grid

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
)

// wedge is one of several wedges, without the others.
func wedge(t *testing.T, wedges, number int) Wedge {
	t.Helper()
	w, err := NewWedge(comm.Self(), 1)
	require.NoError(t, err)
	w.Wedges, w.Number = wedges, number
	w.cut()
	return w
}

var benchmarkSize = Size{IonsPerCell: 10, Surfaces: 90, MaxTheta: 640, MaxZeta: 2, ParticleDomains: 1, DiagnosisInterval: 1}

func TestLayout(t *testing.T) {
	g := New(Cyclone(), benchmarkSize, wedge(t, 2, 0))
	require.Equal(t, 32449, g.Points)
	require.Equal(t, 323590, g.Ions)
	require.Equal(t, 1, g.Planes)
	points := 0
	for i, s := range g.Surface {
		require.Equal(t, int32(points), s.Start)
		require.Zero(t, s.N%2)
		require.InEpsilon(t, 1/g.Safety(g.Radius[i]), s.Twist, 0.02, "the grid follows field lines")
		points += int(s.N) + 1
	}
	require.Equal(t, int32(640), g.Surface[90].N)
	require.InEpsilon(t, g.Outer, g.Radius[90], 1e-14)
	require.Equal(t, g.Points, points)
}

// The numbers of ions expected at all points have the right sum.
func TestMarkersAddUp(t *testing.T) {
	for _, number := range []int{0, 1} {
		size := benchmarkSize
		size.MaxZeta = 6
		g := New(Cyclone(), size, wedge(t, 2, number))
		sum := 0.0
		for i := range g.Surface {
			lo, hi := g.Range(i)
			for p := lo; p < hi; p++ {
				for k := 1; k <= g.Planes; k++ {
					sum += 1 / g.Markers[g.Index(p, k)]
				}
			}
		}
		require.InEpsilon(t, float64(g.Ions), sum, 1e-12)
	}
}

// A radial neighbour is at the same angle, within the resolution of its surface.
func TestNeighboursAreAtTheSameAngle(t *testing.T) {
	g := New(Cyclone(), benchmarkSize, wedge(t, 2, 1))
	for i := 1; i < g.Surfaces; i++ {
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			nb := &g.Radial[0][p]
			for n, to := range []int{i + 1, i - 1, min(90, i+2), max(0, i-2)} {
				s := &g.Surface[to]
				require.GreaterOrEqual(t, nb.At[n], s.Start)
				require.Less(t, nb.At[n], s.Start+s.N)
				angle := g.DTheta[to]*(float64(nb.At[n]-s.Start)+nb.Weight[n]) + g.Zeta(1)*s.Twist
				require.InDelta(t, 0, math.Sin((angle-g.Theta(i, p-lo+1, 1))/2), 1e-9)
			}
		}
	}
}

// A plane that crosses the seam is rotated so that its points meet points of the same
// angle. The inverse rotation restores it.
func TestSeam(t *testing.T) {
	g := New(Cyclone(), benchmarkSize, wedge(t, 2, 1))
	plane := make([]float64, 2*g.Points)
	for i := range g.Surface {
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			plane[2*p], plane[2*p+1] = g.Theta(i, p-lo+1, g.Planes), float64(p) // at ζ = 2π
		}
	}
	turned := append([]float64(nil), plane...)
	g.Unrotate(turned, 2)
	for i := range g.Surface {
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			here := g.DTheta[i] * float64(p-lo+1) // at ζ = 0
			require.InDelta(t, 0, math.Sin((turned[2*p]-here)/2), 1e-6, "surface %d", i)
		}
	}
	g.RotatePlane(turned, 2)
	require.Equal(t, plane, turned)
}

func TestBins(t *testing.T) {
	p := Cyclone()
	for _, tt := range []struct {
		way  float64
		want int
	}{{-0.1, 0}, {0, 0}, {0.19, 0}, {0.21, 1}, {0.5, 2}, {0.99, 4}, {1, 4}, {1.2, 4}} {
		require.Equal(t, tt.want, p.Bin(p.Inner+tt.way*(p.Outer-p.Inner)), "%v", tt.way)
	}
}
