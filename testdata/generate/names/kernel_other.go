//go:build !linux

package names

//intra:task in(x) out(y)
func double(x, y []int) {
	for i, v := range x {
		y[i] = v + v
	}
}
