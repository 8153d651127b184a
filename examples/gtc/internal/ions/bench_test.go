package ions

import (
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// half is the grid of the first of two wedges, without the second wedge.
func half(t testing.TB, size grid.Size) *grid.Grid {
	t.Helper()
	w, err := grid.NewWedge(comm.Self(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w.Wedges, w.ZetaMax = 2, math.Pi
	return grid.New(grid.Cyclone(), size, w)
}

// The time per ion can be compared with that of the original.
func benchmark(b *testing.B, kernel func(z *Ions, f *Field, density []float64)) {
	g := half(b, grid.Size{IonsPerCell: 20, Surfaces: 90, MaxTheta: 640, MaxZeta: 2, ParticleDomains: 1, DiagnosisInterval: 1})
	f := &Field{Grid: g, Gradient: make([]float64, 3*len(g.Field()))}
	for i := range f.Gradient {
		f.Gradient[i] = 1e-9 * math.Sin(float64(i))
	}
	z := Draw(g)
	z.Load(g, 0, z.Len())
	density := g.Field()
	from := processorTime(b)
	for b.Loop() {
		kernel(z, f, density)
	}
	per := float64(b.N) * float64(z.Len())
	b.ReportMetric(float64((processorTime(b)-from).Nanoseconds())/per, "cpu-ns/ion")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/per, "ns/ion")
}

// processorTime returns the processor time of this process. On a busy machine it is more
// meaningful than elapsed time.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkPredict(b *testing.B) {
	benchmark(b, func(z *Ions, f *Field, _ []float64) {
		z.Begin()
		var s Sums
		z.Predict(f, f.Grid.TimeStep/2, 0, z.Len(), &s)
		z.Begin() // so that every repetition begins at the same place
	})
}

func BenchmarkCorrect(b *testing.B) {
	benchmark(b, func(z *Ions, f *Field, _ []float64) {
		if z.Old.Psi[1] == 0 {
			arrays := z.arrays()
			for i := range 5 {
				copy(*arrays[6+i], *arrays[i])
			}
		}
		z.Correct(f, f.Grid.TimeStep, 0, z.Len())
	})
}

func BenchmarkCharge(b *testing.B) {
	benchmark(b, func(z *Ions, f *Field, density []float64) { z.Charge(f.Grid, 0, z.Len(), density) })
}

func BenchmarkLoad(b *testing.B) {
	benchmark(b, func(z *Ions, f *Field, _ []float64) { _ = Draw(f.Grid) })
}
