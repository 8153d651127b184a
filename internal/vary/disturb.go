package vary

import (
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/intrahpc/intra/update"
)

// chance returns a source of random numbers that depend only on seed and of.
func chance(seed uint64, of ...uint64) *rand.Rand {
	for _, x := range of {
		seed = (seed^x)*0x9e3779b97f4a7c15 + 0x7f4a7c15
		seed ^= seed >> 29
	}
	return rand.New(rand.NewPCG(seed, 0x76617279))
}

// turnBits flips the last bit of a share of the numbers that a task has written, and
// returns how many it has flipped. Numbers that are exactly 0, infinite or NaN stay
// unchanged.
func turnBits(regions []update.Region, share float64, rng *rand.Rand) (turned int64) {
	// The distance from one chosen number to the next has a geometric distribution.
	next := func() int {
		if share >= 1 {
			return 0
		}
		return int(min(math.Log1p(-rng.Float64())/math.Log1p(-share), 1<<50))
	}
	skip := next()
	for i := range regions {
		r := &regions[i]
		if !r.Mode.Written() {
			continue
		}
		floats(r.Type(), r.Mem, func(single []float32, double []float64) {
			n := len(single) + len(double)
			for ; skip < n; skip += 1 + next() {
				switch {
				case double == nil:
					if x := &single[skip]; *x != 0 && finite(float64(*x)) {
						*x = math.Float32frombits(math.Float32bits(*x) ^ 1)
						turned++
					}
				case double[skip] != 0 && finite(double[skip]):
					double[skip] = math.Float64frombits(math.Float64bits(double[skip]) ^ 1)
					turned++
				}
			}
			skip -= n
		})
	}
	return turned
}

// shake changes each number in memory of that type by the relative amount eps, up or
// down, and returns how many have changed.
func shake(t reflect.Type, mem []byte, eps float64, rng *rand.Rand) (shaken int64) {
	factor := func() float64 {
		if rng.Uint64()&1 == 0 {
			return 1 - eps
		}
		return 1 + eps
	}
	floats(t, mem, func(single []float32, double []float64) {
		for i, x := range single {
			if y := float32(float64(x) * factor()); y != x && finite(float64(y)) {
				single[i] = y
				shaken++
			}
		}
		for i, x := range double {
			if y := x * factor(); y != x && finite(y) {
				double[i] = y
				shaken++
			}
		}
	})
	return shaken
}
