package vary

import (
	"math"
	"reflect"
)

// Difference describes how a variable differs from the undisturbed one.
type Difference struct {
	Numbers int64   // number of floating-point numbers compared
	Single  bool    // all of them are float32
	Unlike  int64   // numbers that are infinite or NaN in one set, and different in the other
	Most    float64 // the largest |x - x0|
	Scale   float64 // the largest |x0|
	Squares float64 // the sum of (|x - x0| / Most)²
	Total   float64 // the sum of (|x0| / Scale)²
	Others  int64   // differing values that are not floating-point numbers
	Sizes   bool    // the sizes differ, so nothing else was compared
}

// compare compares the memory of a variable of type t with that of the undisturbed
// variable. If t is nil it compares bytes.
func compare(t reflect.Type, undisturbed, mem []byte) (d Difference) {
	if d.Sizes = len(undisturbed) != len(mem); d.Sizes || len(mem) == 0 {
		return d
	}
	if t == nil {
		t = reflect.TypeFor[byte]()
	}
	t = element(t)
	runs, size := layout(t), int(t.Size())
	if len(runs) == 1 && runs[0].n*runs[0].size == size {
		d.values(runs[0], undisturbed, mem)
		return d
	}
	for at := 0; at+size <= len(mem); at += size {
		for _, r := range runs {
			from, to := at+r.at, at+r.at+r.n*r.size
			var one Difference
			one.values(r, undisturbed[from:to], mem[from:to])
			d.Add(one)
		}
	}
	return d
}

// values compares consecutive values.
func (d *Difference) values(r run, undisturbed, mem []byte) {
	if !r.float {
		for at := 0; at < len(mem); at += r.size {
			if string(undisturbed[at:at+r.size]) != string(mem[at:at+r.size]) {
				d.Others++
			}
		}
		return
	}
	d.Single = r.size == 4
	floatsOf(mem, r.size, func(single []float32, double []float64) {
		floatsOf(undisturbed, r.size, func(single0 []float32, double0 []float64) {
			if d.Numbers = int64(len(single) + len(double)); d.Single {
				apart(d, single0, single)
			} else {
				apart(d, double0, double)
			}
		})
	})
}

// apart measures the distances between the numbers of x and x0.
func apart[T float32 | float64](d *Difference, x0, x []T) {
	for i, a := range x0 {
		a, b := float64(a), float64(x[i])
		switch {
		case finite(a) && finite(b):
			d.Most, d.Scale = max(d.Most, distance(a, b)), max(d.Scale, math.Abs(a))
		case a != b && !(math.IsNaN(a) && math.IsNaN(b)):
			d.Unlike++
		}
	}
	for i, a := range x0 {
		if a, b := float64(a), float64(x[i]); finite(a) && finite(b) {
			d.Squares += square(distance(a, b), d.Most)
			d.Total += square(math.Abs(a), d.Scale)
		}
	}
}

// distance returns |a - b|, limited to the largest finite number.
func distance(a, b float64) float64 { return min(math.Abs(a-b), math.MaxFloat64) }

// square returns the square of x/by, 0 if by is 0.
func square(x, by float64) float64 {
	if by == 0 {
		return 0
	}
	return (x / by) * (x / by)
}

// Add adds the difference of another part of the same variable, for example of another
// rank.
func (d *Difference) Add(o Difference) {
	most, scale := max(d.Most, o.Most), max(d.Scale, o.Scale)
	d.Squares = d.Squares*square(d.Most, most) + o.Squares*square(o.Most, most)
	d.Total = d.Total*square(d.Scale, scale) + o.Total*square(o.Scale, scale)
	if o.Numbers > 0 {
		d.Single = o.Single && (d.Single || d.Numbers == 0)
	}
	d.Most, d.Scale = most, scale
	d.Numbers, d.Unlike, d.Others = d.Numbers+o.Numbers, d.Unlike+o.Unlike, d.Others+o.Others
	d.Sizes = d.Sizes || o.Sizes
}

// Same reports whether nothing differs.
func (d *Difference) Same() bool { return d.Most == 0 && d.Unlike == 0 && d.Others == 0 && !d.Sizes }

// Digits returns the number of significant decimal digits of the largest number. If
// nothing differs, that is the number of digits of the type.
func (d *Difference) Digits() float64 { return d.digits(d.Most, d.Scale) }

// MeanDigits returns the number of significant digits of the root mean square.
func (d *Difference) MeanDigits() float64 {
	if d.Numbers == 0 || d.Most == 0 || d.Scale == 0 {
		return d.Digits()
	}
	return d.bounded(math.Log10(d.Scale) - math.Log10(d.Most) + (math.Log10(d.Total)-math.Log10(d.Squares))/2)
}

func (d *Difference) digits(difference, scale float64) float64 {
	switch {
	case difference == 0:
		return d.bounded(math.Inf(1))
	case scale == 0:
		return 0
	}
	return d.bounded(math.Log10(scale) - math.Log10(difference))
}

// bounded limits digits to the range from 0 to the digits of the type.
func (d *Difference) bounded(digits float64) float64 {
	bits := 53
	if d.Single {
		bits = 24
	}
	if d.Sizes || d.Unlike > 0 {
		return 0
	}
	return max(0, min(digits, float64(bits)*math.Log10(2)))
}

// relative returns the logarithm of the largest difference relative to the largest number.
// ok is false if no finite number differs, or if all digits of the numbers are wrong.
func (d *Difference) relative() (logarithm float64, ok bool) {
	if d.Most == 0 || d.Scale == 0 || d.Unlike > 0 || d.Sizes {
		return 0, false
	}
	l := math.Log10(d.Most) - math.Log10(d.Scale)
	return l, l < saturated
}

// saturated is the logarithm of a relative difference that cannot grow much more.
const saturated = -1.0
