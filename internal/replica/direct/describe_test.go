package direct

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// words are words for a test in one goroutine.
type words [][]uint64

func (w words) Load(r, k int) uint64     { return w[r][k] }
func (w words) Store(r, k int, v uint64) { w[r][k] = v }
func (w words) CompareAndSwap(r, k int, old, new uint64) bool {
	if w[r][k] != old {
		return false
	}
	w[r][k] = new
	return true
}

func TestDescribe(t *testing.T) {
	shared := words{make([]uint64, NumWords), make([]uint64, NumWords)}
	live := func(int) bool { return true }
	tables := []*ClaimTable{New(shared, 0, 2, live), New(shared, 1, 2, live)}
	for _, b := range tables {
		b.Enter(Section{Number: 6, Tasks: 3, Signature: 5})
	}
	require.Equal(t, "section 6, by stores, lacks 3 of 3 tasks: 0 is free, 1 is free, 2 is free", tables[0].Describe())
	step, err := tables[1].Next()
	require.NoError(t, err)
	require.Equal(t, Run, step.Kind)
	mine, err := tables[0].Next()
	require.NoError(t, err)
	require.Equal(t, Run, mine.Kind)
	require.Equal(t, []int{0, 2}, []int{mine.Task, step.Task}, "each replica claims a task, from different ends")
	require.Equal(t, "section 6, by stores, lacks 3 of 3 tasks: 0 runs here, 1 is free, 2 is claimed by replica 1", tables[0].Describe())
	tables[0].Ran(0, nil)
	require.Equal(t, []int{0}, tables[1].Ran(2, nil))
	tables[1].Gave(2, 0)
	require.Equal(t, "section 6, by stores, lacks 1 of 3 tasks: 1 is free", tables[0].Describe())
	step, err = tables[0].Next()
	require.NoError(t, err)
	require.Equal(t, Step{Kind: Run, Task: 1}, step)
	tables[0].Ran(1, nil)
	require.Equal(t, "section 6, by stores, has all its tasks", tables[0].Describe())
}

func (w words) Mark(k int, v uint64) { w[0][k] = v }
