package nas

// Random is the generator of all benchmarks: x becomes a·x modulo 2⁴⁶, and the
// number is x·2⁻⁴⁶. The zero value is of no use.
type Random uint64

const (
	multiplier = 1220703125 // 5¹³
	modulus    = 1 << 46
)

// Seed is where most benchmarks begin.
const Seed Random = 314159265

// Next returns the next number, between 0 and 1.
func (r *Random) Next() float64 {
	*r = *r * multiplier % modulus
	return float64(*r) * (1.0 / modulus)
}

// After returns the generator as it is after n more numbers, so that tasks and
// ranks can begin anywhere in the sequence.
func (r Random) After(n int) Random {
	for factor := Random(multiplier); n > 0; n /= 2 {
		if n%2 == 1 {
			r = r * factor % modulus
		}
		factor = factor * factor % modulus
	}
	return r
}
