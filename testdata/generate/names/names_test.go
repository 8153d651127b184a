package names

import (
	"slices"
	"testing"

	"github.com/intrahpc/intra"
)

//intra:task in(x) reduce(+: n)
func odd(x []int) (n int) {
	for _, v := range x {
		n += v % 2
	}
	return n
}

//intra:task in(from) out(x)
func count(from int, x []int) {
	for i := range x {
		x[i] = from + i
	}
}

func TestByHand(t *testing.T) {
	var p *intra.Process
	n := 0
	s := p.Section()
	launchOdd(s, []int{1, 2, 3}, &n)
	if err := s.End(); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	x := []int{1, 2, 3}
	y, z := make([]int, 3), make([]int, 3)
	step(nil, x, y, z)
	if !slices.Equal(y, []int{2, 4, 6}) || !slices.Equal(z, []int{3, 6, 9}) {
		t.Fatal(y, z)
	}
}
