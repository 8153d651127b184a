package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		ranks, least, most, slots int
		want                      []int
	}{
		{1, 1, 2, 1, []int{1}},
		{1, 1, 2, 2, []int{2}},
		{2, 1, 3, 5, []int{3, 2}},
		{2, 1, 3, 50, []int{3, 3}},
		{3, 2, 3, 2, []int{2, 2, 2}}, // too few slots, which Place reports
	} {
		require.Equal(t, c.want, Fit(c.ranks, c.least, c.most, []Host{{Slots: c.slots - 1}, {Slots: 1}}), "%+v", c)
	}
}
