package nas

// Random is the generator of all benchmarks: x becomes a·x modulo 2⁴⁶, and the number is
// x·2⁻⁴⁶. The zero value generates only zeros.
type Random uint64

const (
	multiplier = 1220703125 // 5¹³
	modulus    = 1 << 46
)

// Seed is the seed of most benchmarks.
const Seed Random = 314159265

// Next returns the next number, between 0 and 1.
func (r *Random) Next() float64 {
	*r = *r * multiplier % modulus
	return r.number()
}

// number returns the last number. The value fits int64, which CPUs convert faster than
// uint64.
func (r Random) number() float64 { return float64(int64(r%modulus)) * (1.0 / modulus) }

// Fill sets x to the next numbers. It computes each one from the fourth one before, so that
// the CPU can compute several at a time.
func (r *Random) Fill(x []float64) {
	const fourth = multiplier * multiplier * multiplier * multiplier % modulus
	a := *r * multiplier
	b := a * multiplier
	c := b * multiplier
	d := c * multiplier
	end := len(x) / 4 * 4
	for k := 0; k < end; k += 4 {
		next := x[k:][:4]
		next[0], next[1], next[2], next[3] = a.number(), b.number(), c.number(), d.number()
		a, b, c, d = a*fourth, b*fourth, c*fourth, d*fourth
	}
	*r = r.After(end)
	for k := range x[end:] {
		x[end+k] = r.Next()
	}
}

// After returns the state of the generator after n more numbers. With it tasks and ranks
// can begin anywhere in the sequence.
func (r Random) After(n int) Random {
	for factor := Random(multiplier); n > 0; n /= 2 {
		if n%2 == 1 {
			r = r * factor % modulus
		}
		factor = factor * factor % modulus
	}
	return r
}
