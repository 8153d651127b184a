package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		least, most   []int
		slots, spares int
		want          []int
	}{
		{[]int{1}, []int{2}, 1, 0, []int{1}},
		{[]int{1}, []int{2}, 2, 0, []int{2}},
		{[]int{1}, []int{2}, 2, 1, []int{1}},
		{[]int{1, 1}, []int{3, 3}, 5, 0, []int{3, 2}},
		{[]int{1, 1}, []int{3, 3}, 50, 0, []int{3, 3}},
		{[]int{2, 2, 2}, []int{3, 3, 3}, 2, 0, []int{2, 2, 2}}, // too few slots, which Place reports
		{[]int{1, 1, 2}, []int{3, 1, 2}, 5, 0, []int{2, 1, 2}},
		{[]int{2, 1}, []int{3, 3}, 4, 0, []int{2, 2}},
		{[]int{2, 1}, []int{3, 3}, 5, 0, []int{3, 2}},
	} {
		require.Equal(t, c.want, Fit(c.least, c.most, []Host{{Slots: c.slots - 1}, {Slots: 1}}, c.spares), "%+v", c)
	}
}
