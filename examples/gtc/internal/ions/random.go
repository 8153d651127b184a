package ions

// Random is a portable generator of random numbers, that of GTC by C. Karney. It is lagged
// Fibonacci with lags 100 and 63 on numbers of 47 bits. Only 100 of 1009 numbers are used,
// which is Knuth's remedy for their short-range correlations. The seeds come from a linear
// congruential generator modulo 2^112.
type Random struct {
	next  int
	batch [lagLong]uint64
}

const (
	lagLong, lagShort = 100, 63
	bits              = 47
	period            = 1009    // numbers made for each batch used
	digit             = 1 << 14 // base of the digits of a seed
	digits            = 8
)

// multiplier of the generator of seeds, lowest digit first.
var multiplier = [digits]int64{15661, 678, 724, 5245, 13656, 11852, 29, 0}

type seed [digits]int64

// step returns the next seed.
func (s seed) step() seed {
	var t seed
	carry := int64(1)
	for i := range t {
		for j := range i + 1 {
			carry += multiplier[j] * s[i-j]
		}
		t[i], carry = carry%digit, carry/digit
	}
	return t
}

// number returns the upper half of the digits as a number, the highest digit
// last.
func (s seed) number() uint64 {
	return uint64(s[4]>>9<<42 | s[5]<<28 | s[6]<<14 | s[7])
}

// NewRandom returns the generator with a number as seed.
func NewRandom(n uint64) *Random {
	var s seed
	for i := range s {
		s[i] = int64(n % digit)
		n /= digit
	}
	r := &Random{next: lagLong}
	odd := false
	for i := range r.batch {
		if i > 0 {
			s = s.step()
		}
		odd = odd || s[7]%2 != 0
		r.batch[i] = s.number()
	}
	if !odd { // if all were even the period would be short, so one is made odd
		s = s.step()
		r.batch[s[7]*lagLong/digit]++
	}
	return r
}

// Fill fills a with numbers between 0 and 1.
func (r *Random) Fill(a []float64) {
	const unit = 1.0 / (1 << bits)
	for len(a) > 0 {
		if r.next == lagLong {
			r.advance()
		}
		n := min(len(a), lagLong-r.next)
		for i, v := range r.batch[r.next : r.next+n] {
			a[i] = float64(float64(v)*unit) + unit/2
		}
		r.next += n
		a = a[n:]
	}
}

// advance makes the next batch.
func (r *Random) advance() {
	var w [period + lagLong]uint64
	copy(w[:], r.batch[:])
	for i := lagLong; i < len(w); i++ {
		w[i] = (w[i-lagLong] + w[i-lagShort]) % (1 << bits)
	}
	copy(r.batch[:], w[period:])
	r.next = 0
}
