package sched_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
)

func TestParse(t *testing.T) {
	for _, p := range []sched.Policy{sched.Adaptive, sched.Static, sched.Replicate} {
		got, err := sched.Parse(p.String())
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	_, err := sched.Parse("dynamic")
	require.EqualError(t, err, `unknown schedule "dynamic": want static, adaptive or replicate`)
}

// Blocks cover the tasks in order, and their lengths differ by at most one. Owner is their
// inverse.
func TestBlocks(t *testing.T) {
	for n := range 40 {
		for r := 1; r <= 7; r++ {
			next := 0
			for i := range r {
				lo, hi := sched.Block(n, r, i)
				require.Equal(t, next, lo)
				require.Contains(t, []int{n / r, n/r + 1}, hi-lo)
				for task := lo; task < hi; task++ {
					require.Equal(t, i, sched.Owner(n, r, task), "task %d of %d on %d", task, n, r)
				}
				next = hi
			}
			require.Equal(t, n, next)
		}
	}
}

// knowledge is a View with an entry for each task.
type knowledge struct {
	done, expected map[int]bool
	gone           map[int]bool
	slow           int // with this number of open tasks, or fewer, the peers are sooner
}

func (k knowledge) Todo(t int) bool     { return !k.done[t] }
func (k knowledge) Expected(t int) bool { return k.expected[t] }
func (k knowledge) Gone(i int) bool     { return k.gone[i] }

func (k knowledge) Sooner(_, open int) bool { return open <= k.slow }

func set(members ...int) map[int]bool {
	s := make(map[int]bool)
	for _, m := range members {
		s[m] = true
	}
	return s
}

func TestNext(t *testing.T) {
	const none = -1
	tests := []struct {
		name  string
		shape sched.Shape
		me    int
		view  knowledge
		want  int
	}{
		{"own block first", sched.Shape{Policy: sched.Adaptive, Tasks: 8, Replicas: 2}, 1, knowledge{}, 4},
		{"then help from the far end", sched.Shape{Policy: sched.Adaptive, Tasks: 8, Replicas: 2}, 1,
			knowledge{done: set(4, 5, 6, 7)}, 3},
		{"no claimed task", sched.Shape{Policy: sched.Adaptive, Tasks: 8, Replicas: 2}, 1,
			knowledge{done: set(4, 5, 6, 7), expected: set(3)}, 2},
		{"help the peer with most open tasks", sched.Shape{Policy: sched.Adaptive, Tasks: 9, Replicas: 3}, 0,
			knowledge{done: set(0, 1, 2, 3)}, 8},
		{"all claimed: wait", sched.Shape{Policy: sched.Adaptive, Tasks: 2, Replicas: 2}, 0,
			knowledge{done: set(0), expected: set(1)}, none},
		{"the last task is left to a faster peer", sched.Shape{Policy: sched.Adaptive, Tasks: 8, Replicas: 2}, 1,
			knowledge{done: set(0, 1, 4, 5, 6), expected: set(2, 3), slow: 1}, none},
		{"the last but one is not", sched.Shape{Policy: sched.Adaptive, Tasks: 8, Replicas: 2}, 1,
			knowledge{done: set(0, 1, 4, 5), expected: set(2, 3), slow: 1}, 6},
		{"a static schedule leaves no task to a faster peer", sched.Shape{Policy: sched.Static, Tasks: 8, Replicas: 2}, 1,
			knowledge{done: set(0, 1, 4, 5, 6), expected: set(2, 3), slow: 1}, 7},
		{"static waits for the owner", sched.Shape{Policy: sched.Static, Tasks: 8, Replicas: 2}, 0,
			knowledge{done: set(0, 1, 2, 3), expected: set(4, 5, 6, 7)}, none},
		{"static takes over from the dead", sched.Shape{Policy: sched.Static, Tasks: 8, Replicas: 2}, 0,
			knowledge{done: set(0, 1, 2, 3), gone: set(1)}, 4},
		{"survivors start apart", sched.Shape{Policy: sched.Static, Tasks: 12, Replicas: 3}, 2,
			knowledge{done: set(8, 9, 10, 11), expected: set(4, 5, 6, 7), gone: set(0)}, 2},
		{"static runs tasks whose updates were skipped", sched.Shape{Policy: sched.Static, Tasks: 4, Replicas: 2}, 0,
			knowledge{done: set(0, 1), expected: set(2)}, 3},
		{"replicate runs all", sched.Shape{Policy: sched.Replicate, Tasks: 4, Replicas: 2}, 1, knowledge{}, 0},
		{"own block from the back", sched.Shape{Policy: sched.Adaptive, Tasks: 8, Replicas: 2, Backward: true}, 0, knowledge{done: set(3)}, 2},
		{"then help from the front", sched.Shape{Policy: sched.Adaptive, Tasks: 8, Replicas: 2, Backward: true}, 0,
			knowledge{done: set(0, 1, 2, 3)}, 4},
		{"replicate from the back", sched.Shape{Policy: sched.Replicate, Tasks: 4, Replicas: 2, Backward: true}, 1, knowledge{}, 3},
		{"static always from the front", sched.Shape{Policy: sched.Static, Tasks: 8, Replicas: 2, Backward: true}, 1, knowledge{}, 4},
		{"nothing left", sched.Shape{Policy: sched.Adaptive, Tasks: 2, Replicas: 2}, 0, knowledge{done: set(0, 1)}, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := sched.Next(tt.shape, tt.me, tt.view)
			if tt.want == none {
				require.False(t, ok, "got task %d", got)
				return
			}
			require.True(t, ok)
			require.Equal(t, tt.want, got)
		})
	}
}

func ExampleBlock() {
	for i := range 3 {
		lo, hi := sched.Block(16, 3, i)
		fmt.Printf("replica %d: tasks %d to %d\n", i, lo, hi-1)
	}
	// Output:
	// replica 0: tasks 0 to 5
	// replica 1: tasks 6 to 10
	// replica 2: tasks 11 to 15
}
