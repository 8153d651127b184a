package long // want package:"effects"

type view struct {
	s []float64
	n int
}

func (v view) set(i int, f float64) {
	t := v.s
	u := t
	u[i] = f
	if i > 0 {
		u = t[1:]
	}
	u[0] = f
}

//intra:task in(v) inout(v.s)
func field(v view) {
	t := v.s
	if v.n > 0 {
		t = t[1:]
	}
	for i := range t {
		t[i] *= 2
	}
}

//intra:task in(v) inout(v.s)
func method(v view) {
	w := v
	w.set(1, 2)
}

//intra:task out(y)
func again(y []float64) {
	t := y
	for range 3 {
		for i := range t {
			t[i] = 1
		}
		t = t[1:]
	}
	_ = y[0]
}

//intra:task in(x) inout(y)
func nested(x, y []float64) {
	pair := [2]view{{x, 1}, {y, 1}}
	pair[1].set(0, pair[0].s[0])
}
