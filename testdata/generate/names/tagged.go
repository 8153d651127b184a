//go:build (amd64 || arm64) && !race

package names

//intra:task in(x) out(y)
func triple(x, y []int) {
	for i, v := range x {
		y[i] = 3 * v
	}
}
