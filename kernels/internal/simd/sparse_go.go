package simd

// SliceRows is the number of rows of a slice in the sliced formats.
const SliceRows = 8

func csr[T Float, I int32 | int64](ptr []int64, col []I, val, x, y []T) {
	clear(y)
	csrAdd(ptr, col, val, x, y)
}

func csrAdd[T Float, I int32 | int64](ptr []int64, col []I, val, x, y []T) {
	ptr = ptr[:len(y)+1]
	for i, s := range y {
		v := val[ptr[i]:ptr[i+1]]
		c := col[ptr[i]:ptr[i+1]][:len(v)]
		for k := range v {
			s += T(v[k] * x[c[k]])
		}
		y[i] = Canonical(s)
	}
}

func diag[T Float](pat, ptr, off []int32, mask []uint8, val, x []T, row int, y []T) {
	for s, p := range pat {
		var sum [SliceRows]T
		base := row + s*SliceRows
		if p < 0 {
			p = ^p
		}
		for d := ptr[p]; d < ptr[p+1]; d++ {
			v := (*[SliceRows]T)(val)
			at := base + int(off[d])
			if m := mask[d]; m == 0xff {
				xs := (*[SliceRows]T)(x[at:])
				sum[0] += T(v[0] * xs[0])
				sum[1] += T(v[1] * xs[1])
				sum[2] += T(v[2] * xs[2])
				sum[3] += T(v[3] * xs[3])
				sum[4] += T(v[4] * xs[4])
				sum[5] += T(v[5] * xs[5])
				sum[6] += T(v[6] * xs[6])
				sum[7] += T(v[7] * xs[7])
			} else {
				for l := range SliceRows {
					if m>>l&1 != 0 {
						sum[l] += T(v[l] * x[at+l])
					}
				}
			}
			val = val[SliceRows:]
		}
		store(y[s*SliceRows:], &sum)
	}
}

func sell[T Float](width, col []int32, val, x, y []T) {
	for s, n := range width {
		var sum [SliceRows]T
		for range n {
			v, c := (*[SliceRows]T)(val), (*[SliceRows]int32)(col)
			sum[0] += T(v[0] * x[c[0]])
			sum[1] += T(v[1] * x[c[1]])
			sum[2] += T(v[2] * x[c[2]])
			sum[3] += T(v[3] * x[c[3]])
			sum[4] += T(v[4] * x[c[4]])
			sum[5] += T(v[5] * x[c[5]])
			sum[6] += T(v[6] * x[c[6]])
			sum[7] += T(v[7] * x[c[7]])
			val, col = val[SliceRows:], col[SliceRows:]
		}
		store(y[s*SliceRows:], &sum)
	}
}

func store[T Float](y []T, sum *[SliceRows]T) {
	for l, v := range sum {
		y[l] = Canonical(v)
	}
}

func lower[T Float](pat, ptr, off []int32, mask, chained []uint8, val, chain, d, x []T, row int) {
	for s, p := range pat {
		base := row + s*SliceRows
		y := (*[SliceRows]T)(x[base:])
		q := (*[SliceRows]T)(d[s*SliceRows:])
		var rest [SliceRows]T
		for l := range rest {
			rest[l] = y[l] / q[l]
		}
		if p < 0 {
			p = ^p
		}
		first, end := ptr[p], ptr[p+1]
		far(off[first:end], mask[first:end], val, x, base, &rest)
		val = val[SliceRows*(end-first):]
		c := chain[s*SliceRows:]
		for l, v := range rest {
			if chained[s]>>l&1 != 0 {
				v -= T(c[l] * x[base+l-1])
			}
			y[l] = Canonical(v)
		}
	}
}

func upper[T Float](pat, ptr, off []int32, mask, chained []uint8, val, chain, x []T, row int) {
	for s := len(pat) - 1; s >= 0; s-- {
		base, p := row+s*SliceRows, pat[s]
		y := (*[SliceRows]T)(x[base:])
		rest := *y
		if p < 0 {
			p = ^p
		}
		first, end := ptr[p], ptr[p+1]
		far(off[first:end], mask[first:end], val, x, base, &rest)
		val = val[SliceRows*(end-first):]
		c := chain[s*SliceRows:]
		for l := SliceRows - 1; l >= 0; l-- {
			v := rest[l]
			if chained[s]>>l&1 != 0 {
				v -= T(c[l] * x[base+l+1])
			}
			y[l] = Canonical(v)
		}
	}
}

// far subtracts the products of the diagonals of a slice from rest.
func far[T Float](off []int32, mask []uint8, val, x []T, base int, rest *[SliceRows]T) {
	for d, o := range off {
		v := (*[SliceRows]T)(val[d*SliceRows:])
		at := base + int(o)
		if m := mask[d]; m == 0xff {
			xs := (*[SliceRows]T)(x[at:])
			rest[0] -= T(v[0] * xs[0])
			rest[1] -= T(v[1] * xs[1])
			rest[2] -= T(v[2] * xs[2])
			rest[3] -= T(v[3] * xs[3])
			rest[4] -= T(v[4] * xs[4])
			rest[5] -= T(v[5] * xs[5])
			rest[6] -= T(v[6] * xs[6])
			rest[7] -= T(v[7] * xs[7])
		} else {
			for l := range SliceRows {
				if m>>l&1 != 0 {
					rest[l] -= T(v[l] * x[at+l])
				}
			}
		}
	}
}
