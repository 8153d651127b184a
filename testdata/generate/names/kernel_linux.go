// Package names has sources whose build constraints are in their names or
// texts, and a kernel in a test.
package names

//go:generate go tool intragen

//intra:task in(x) out(y)
func double(x, y []int) {
	for i, v := range x {
		y[i] = 2 * v
	}
}
