//go:build !intra

package forgotten

import (
	"fmt"
	"math"
	"slices"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

func norm(x []float64) float64 { return math.Sqrt(x[0] * x[0]) }

func fetching(p *intra.Process, x []float64) float64 {
	if err := intra.Fetch(p, x); err != nil {
		return 0
	}
	return x[0]
}

func read(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	fmt.Println(x[0], len(y), cap(y))
	return y[3] // want `y is read here, and the section with keep at line 24 leaves it where its tasks have run; call intra.Fetch\(p, y\) before`
}

func written(p *intra.Process, x, y []float64) {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	y[0] = 1 // want `y is written here, and the section with keep at line 33 `
}

func byRange(p *intra.Process, x []float64) (sum float64) {
	y := make([]float64, len(x))
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	for _, v := range y { // want `y is read here`
		sum += v
	}
	return sum
}

func byLoop(p *intra.Process, x, y []float64) (sum float64) {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	if sum > 0 {
		return 0
	}
	for i := range y {
		if i > 3 {
			continue
		}
		sum += y[i] // want `y is read here`
	}
	return sum
}

func byFunction(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	return norm(y) // want `y is read here`
}

func byStandardFunction(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	return slices.Max(y) // want `y is read here`
}

func byPrint(p *intra.Process, x, y []float64) {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	fmt.Println(y) // want `y is read here`
}

func byCopyAndAppend(p *intra.Process, x, y, z []float64) []float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	copy(z, y) // want `y is read here`
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	return append(z, y...) // want `y is read here`
}

func byKernel(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	return total(y) // want `y is read here`
}

func field(p *intra.Process, g *grid) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(g.z), p.Tasks()) {
		g.relax(lo, hi)
	}
	return g.x[0] + g.z[1] // want `g.z is read here, and the section with keep at line 115 leaves it where its tasks have run; call intra.Fetch\(p, g.z\) before`
}

func afterLoop(p *intra.Process, x, y []float64) (float64, error) {
	for range 10 {
		if err := p.SafePoint(); err != nil {
			return 0, err
		}
		sum := 0.0
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			sum += total(y[lo:hi])
		}
		if _, err := comm.AllreduceValue(p.World(), sum, comm.Sum); err != nil {
			return 0, err
		}
	}
	return y[0], nil // want `y is read here`
}

func inTheNextSection(p *intra.Process, x, y []float64) {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(y[0], x[lo:hi], x[lo:hi]) // want `y is read here`
	}
}

func oneOfTwo(p *intra.Process, x []float64) (float64, error) {
	y, z := make([]float64, len(x)), intra.Alloc[float64](len(x))
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(z), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
		scale(3, x[lo:hi], z[lo:hi])
	}
	if err := intra.Fetch(p, y); err != nil {
		return 0, err
	}
	return y[0] + z[0], nil // want `z is read here`
}

func inACase(p *intra.Process, x, y []float64, how int) float64 {
	switch how {
	case 1:
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
	case 2:
		return y[0]
	}
	return y[0] // want `y is read here`
}

func atTheTop(p *intra.Process, x, y []float64) (sum float64) {
	for range 10 {
		sum += y[0] // want `y is read here`
		{
			//intra:section on(p) keep
			for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
				scale(2, x[lo:hi], y[lo:hi])
			}
		}
	}
	return sum
}

func inTheCondition(p *intra.Process, x, y []float64) {
	for y[0] < 3 { // want `y is read here`
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
	}
}

// Programs that are right, or may be.

func once(p *intra.Process, x, y []float64) (sum float64) {
	for i := range 10 {
		sum += y[0]
		if i == 9 {
			//intra:section on(p) keep
			for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
				scale(2, x[lo:hi], y[lo:hi])
			}
		}
	}
	return sum
}

func madeAgain(p *intra.Process, x []float64) {
	for range 10 {
		y := make([]float64, len(x))
		y[0] = 1
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
	}
}

func atTheEnd(p *intra.Process, x, y []float64) (sum float64) {
	for {
		sum += y[0]
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
		break
	}
	return sum
}

func inAnotherCase(p *intra.Process, x, y []float64, how int) (float64, error) {
	switch how {
	case 1:
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
	case 2:
		return y[0], intra.Fetch(p, y)
	}
	return y[0], nil
}

func fetched(p *intra.Process, x, y []float64) (float64, error) {
	for range 10 {
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
		if err := intra.Fetch(p, x, y); err != nil {
			return 0, err
		}
		if y[0] > 3 {
			break
		}
	}
	return y[0], nil
}

func settled(p *intra.Process, x, y []float64) (float64, error) {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	if err := p.Settle(); err != nil {
		return 0, err
	}
	return y[0], nil
}

func fetchedAtTheTop(p *intra.Process, x, y []float64) (float64, error) {
	for range 10 {
		if err := intra.Fetch(p, y); err != nil {
			return 0, err
		}
		if y[0] > 3 {
			break
		}
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
	}
	return y[0], nil
}

func current(p *intra.Process, x, y, z []float64) float64 {
	for range 10 {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, y[lo:hi], z[lo:hi])
		}
		if z[0] > 2 {
			break
		}
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
	}
	return y[0]
}

func fetchedInAFunction(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	return fetching(p, y) + y[0]
}

func sent(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	if comm.Send(p.World(), y, 1, 0) != nil {
		return 0
	}
	return y[0]
}

func sentUnderAnotherName(p *intra.Process, x, y, z []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	if comm.Send(p.World(), z, 1, 0) != nil {
		return 0
	}
	return y[0]
}

func fetchedByField(p *intra.Process, g *grid) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(g.z), p.Tasks()) {
		g.relax(lo, hi)
	}
	if intra.Fetch(p, g.x) != nil { // may be the same memory
		return 0
	}
	return g.z[1]
}

func readByAllTasks(p *intra.Process, x, y, z []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(z), p.Tasks()) {
		scale(2, y, z[lo:hi])
	}
	return y[0]
}

func swapped(p *intra.Process, x, y []float64) float64 {
	for range 10 {
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
			scale(2, x[lo:hi], y[lo:hi])
		}
		x, y = y, x
		if y[0] > 2 {
			return y[0]
		}
	}
	return 0
}

func otherElements(p *intra.Process, ends []float64) float64 {
	//intra:section on(p) keep
	{
		end(ends, 0)
		end(ends, 1)
	}
	return ends[2]
}

func guarded(p *intra.Process, x, y []float64, alone bool) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	if alone && y[0] > 0 {
		return 1
	}
	if alone {
		return y[0]
	}
	return 0
}

func reduced(p *intra.Process, x []float64) (sum float64) {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
		sum += total(x[lo:hi])
	}
	return sum + x[0]
}

func called(p *intra.Process, x, y []float64, f func()) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	f()
	return y[0]
}

func bySections(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p) keep
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	return sumOf(p, y)
}

func sumOf(p *intra.Process, y []float64) (sum float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		sum += total(y[lo:hi])
	}
	return sum
}

func notKept(p *intra.Process, x, y []float64) float64 {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(y), p.Tasks()) {
		scale(2, x[lo:hi], y[lo:hi])
	}
	return y[0]
}
