package sched_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
)

// members is a simple implementation of a Set, as an oracle.
type members struct {
	in       []bool
	replicas int
}

func (m members) first(lo, hi int, back bool) (int, bool) {
	task, ok := 0, false
	for t := lo; t < hi; t++ {
		if m.in[t] && (!ok || back) {
			task, ok = t, true
		}
	}
	return task, ok
}

func (m members) count(i int) (n int) {
	lo, hi := sched.Block(len(m.in), m.replicas, i)
	for _, in := range m.in[lo:hi] {
		if in {
			n++
		}
	}
	return n
}

// TestSet adds tasks to a Set and to members, removes them, and compares all answers. One
// Set is used for sections of all sizes, one after the other.
func TestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s sched.Set
	for _, tasks := range []int{0, 1, 2, 63, 64, 65, 4095, 4096, 4097, 300_000, 100, 7} {
		for _, all := range []bool{true, false} {
			replicas := 1 + rng.IntN(4)
			m := members{make([]bool, tasks), replicas}
			for i := range m.in {
				m.in[i] = all
			}
			s.Reset(tasks, replicas, all)
			for step := range 300 {
				for range 1 + tasks/100 {
					if tasks == 0 {
						break
					}
					task := rng.IntN(tasks)
					require.Equal(t, m.in[task], s.Has(task))
					if m.in[task] = rng.IntN(3) == 0 == all; m.in[task] {
						s.Add(task)
					} else {
						s.Remove(task)
					}
				}
				if step%10 != 0 {
					continue
				}
				lo := rng.IntN(tasks + 1)
				hi := lo + rng.IntN(tasks+1-lo)
				for _, back := range []bool{false, true} {
					want, wantOK := m.first(lo, hi, back)
					got, ok := s.First(lo, hi, back)
					require.Equal(t, wantOK, ok, "%d tasks, %d to %d", tasks, lo, hi)
					if ok {
						require.Equal(t, want, got, "%d tasks, %d to %d", tasks, lo, hi)
					}
				}
				for i := range replicas {
					require.Equal(t, m.count(i), s.Count(i))
				}
			}
		}
	}
}

// indexed is the knowledge of a replica, with an index of the open tasks.
type indexed struct {
	knowledge
	sched.Set
}

func (v indexed) Open(i int) int { return v.Count(i) }

// These methods ask about a single task. Next must not call them if the View is an Index.
func (v indexed) Todo(int) bool     { panic("Todo was called") }
func (v indexed) Expected(int) bool { panic("Expected was called") }

// TestNextByIndex: Next returns the same result with an index as without, and asks about no
// single task.
func TestNextByIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		shape := sched.Shape{Policy: sched.Policy(rng.IntN(3)), Tasks: rng.IntN(40), Replicas: 1 + rng.IntN(4), Backward: rng.IntN(2) == 0}
		k := knowledge{done: set(), expected: set(), gone: set(), slow: rng.IntN(3)}
		v := indexed{knowledge: k}
		v.Reset(shape.Tasks, shape.Replicas, true)
		for task := range shape.Tasks {
			k.done[task] = rng.IntN(3) > 0
			k.expected[task] = rng.IntN(4) == 0
			if k.done[task] || k.expected[task] {
				v.Remove(task)
			}
		}
		for i := range shape.Replicas {
			k.gone[i] = rng.IntN(3) == 0
		}
		me := rng.IntN(shape.Replicas)
		want, wantOK := sched.Next(shape, me, k)
		got, ok := sched.Next(shape, me, &v)
		require.Equal(t, wantOK, ok, fmt.Sprint(shape, me, k))
		require.Equal(t, want, got, fmt.Sprint(shape, me, k))
	}
}
