package affinity

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// stay is the result if the process does not move.
const stay = -1

func TestBalance(t *testing.T) {
	for name, tt := range map[string]struct {
		others []int // processors that other processes have recorded; -1: none
		here   int
		cores  []int
		want   int
	}{
		"three and one":                                 {[]int{0, 0, 1}, 0, []int{0, 1}, 1},
		"two and two":                                   {[]int{0, 1, 1}, 0, []int{0, 1}, stay},
		"two and one":                                   {[]int{0, 1}, 0, []int{0, 1}, stay},
		"alone, beside three":                           {[]int{1, 1, 1}, 0, []int{0, 1}, stay},
		"processes that have ended do not count":        {[]int{0, -1, -1, 1}, 0, []int{0, 1}, stay},
		"to the emptiest":                               {[]int{0, 0, 1, 1, 2, 3, 3}, 0, []int{0, 1, 2, 3}, 2},
		"not to a processor that is not allowed":        {[]int{0, 0, 1, 1, 2, 3, 3}, 0, []int{0, 1, 3}, stay},
		"others are on a processor that is not allowed": {[]int{0, 0, 9, 1000}, 0, []int{0, 1}, 1},
		"it is not on one of its first processors":      {[]int{2, 2}, 2, []int{0, 1}, stay},
		"only one processor is allowed":                 {[]int{0, 0, 0}, 0, []int{0}, stay},
		"its processor is unknown":                      {[]int{0, 0, 0}, -1, []int{0, 1}, stay},
		"processors with numbers of all sorts":          {[]int{7, 7, 300}, 7, []int{7, 64, 300}, 64},
	} {
		t.Run(name, func(t *testing.T) {
			all := make([]atomic.Uint32, len(tt.others)+3)
			for i, at := range tt.others {
				all[1+i].Store(uint32(at + 1))
			}
			all[len(tt.others)+2].Store(1) // beyond the entries in use
			var used atomic.Uint32
			used.Store(uint32(len(tt.others) + 1))
			s := newSlot(&all[0], &used, all, tt.cores)
			went := stay
			s.here = func() int { return tt.here }
			s.move = func(to int) bool { went = to; return true }
			s.Balance()
			require.Equal(t, tt.want, went)
			if went != stay {
				require.EqualValues(t, went+1, all[0].Load(), "the others see the move")
			}
		})
	}
	(*Slot)(nil).Balance()
}

// A slot records the processor of the process even if the process cannot move. After a
// move it does not move again at once, whatever other processes record.
func TestBalanceRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all [4]atomic.Uint32
		var used atomic.Uint32
		used.Store(9) // more than exist, written by a faulty process
		s := newSlot(&all[0], &used, all[:], []int{0, 1})
		var tried int
		may := false
		s.here = func() int { return 0 }
		s.move = func(int) bool { tried++; return may }
		for i := range 3 {
			all[1+i].Store(1)
		}
		for range 2 {
			s.Balance()
			require.EqualValues(t, 1, all[0].Load())
			require.Equal(t, 1, tried)
		}
		may = true
		time.Sleep(restTime)
		s.Balance()
		require.EqualValues(t, 2, all[0].Load())
		require.Equal(t, 2, tried)
		s.Balance() // the kernel has moved it back
		require.EqualValues(t, 1, all[0].Load())
		require.Equal(t, 2, tried)
	})
}
