package recursive // want package:"effects"

type view struct{ s []float64 }

func down(v view, n int) view {
	if n == 0 {
		v.s[0] = 1
		return v
	}
	return down(view{v.s[1:]}, n-1)
}

//intra:task in(v) inout(v.s)
func field(v view) { down(v, 3).s[0] = 2 }

//intra:task out(y)
func slice(y []float64) { down(view{y}, 3) }
