package ions

import "math"

// These functions replace those of the math library, which has different bits on a CPU with
// fused multiply and add: replicas may run on different machines. They have no branches, so
// the CPU can overlap the computations of several ions.

const (
	// Adding rounder to a number leaves the nearest integer in the low bits.
	rounder = 3 << 51
	// halfPiHigh has 33 bits, so small multiples are exact. halfPiLow is the rest of π/2.
	halfPiHigh = 0x1921fb544p-32
	halfPiLow  = math.Pi/2 - halfPiHigh
)

// sincos returns the sine and cosine of x for |x| < 1e5. The error is less than 1e-16 · |x|
// + 1.5 units of the last place.
func sincos(x float64) (sin, cos float64) {
	t := float64(x*(2/math.Pi)) + rounder
	n := math.Float64bits(t)
	t -= rounder
	r := x - float64(t*halfPiHigh) - float64(t*halfPiLow)
	z := float64(r * r)
	z2 := float64(z * z)
	// Taylor series for |r| ≤ π/4.
	s := (float64(z*(1.0/120)) - 1.0/6) + float64(z2*((float64(z*(1.0/362880))-1.0/5040)+
		float64(z2*((float64(z*(1.0/6227020800))-1.0/39916800)-float64(z2*(1.0/1307674368000))))))
	c := (1.0/24 - float64(z*(1.0/720))) + float64(z2*((1.0/40320-float64(z*(1.0/3628800)))+
		float64(z2*((1.0/479001600-float64(z*(1.0/87178291200)))+float64(z2*(1.0/20922789888000))))))
	sb := math.Float64bits(r + float64(float64(r*z)*s))
	cb := math.Float64bits(1 - (float64(0.5*z) - float64(z2*c)))
	odd := -(n & 1) // all ones in the quadrants where sine and cosine are exchanged
	sin = math.Float64frombits((sb&^odd | cb&odd) ^ (n&2)<<62)
	cos = math.Float64frombits((cb&^odd | sb&odd) ^ ((n+1)&2)<<62)
	return sin, cos
}

// decay returns exp(-x), to 2 units of the last place, for x ≥ 0. For x above 700 it
// returns the value for 700.
func decay(x float64) float64 {
	const ln2High = 0x162e42fefap-37 // 37 bits
	const ln2Low = math.Ln2 - ln2High
	x = min(x, 700)
	t := rounder - float64(x*(1/math.Ln2))
	n := math.Float64bits(t)
	t -= rounder
	r := (-x - float64(t*ln2High)) - float64(t*ln2Low)
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	a := (1.0/2 + float64(r*(1.0/6))) + float64(r2*(1.0/24+float64(r*(1.0/120))))
	b := (1.0/720 + float64(r*(1.0/5040))) + float64(r2*(1.0/40320+float64(r*(1.0/362880))))
	c := (1.0/3628800 + float64(r*(1.0/39916800))) + float64(r2*(1.0/479001600+float64(r*(1.0/6227020800))))
	y := 1 + (r + float64(r2*(a+float64(r4*(b+float64(r4*c))))))
	return math.Float64frombits(math.Float64bits(y) + n<<52)
}
