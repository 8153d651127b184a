package engine

import (
	"slices"

	"github.com/intrahpc/intra/internal/replica/verify"
)

// sample chooses the tasks of s that are verified.
func (v *verifier) sample(s *Section) {
	chosen := v.sampler
	if v.entire {
		chosen.Share = 1
	}
	v.choose(s, chosen)
}

// samples reports whether some or all tasks are compared.
func (v *verifier) samples() bool { return v != nil && v.sampler.Share > 0 }

// sampleAll chooses all tasks of s, which every replica runs anyway. If some were not
// compared, a wrong result would stay on one replica and make the replicas differ.
func (v *verifier) sampleAll(s *Section) {
	v.choose(s, verify.Sampler{Share: 1, Replicas: len(v.peers)})
}

// choose selects the tasks of s that a sampler chooses for comparison.
func (v *verifier) choose(s *Section, by verify.Sampler) {
	v.tasks, v.due = by.Sample(v.tasks[:0], s.Number, len(s.Tasks)), v.due[:0]
	if len(v.tasks) == 0 {
		return
	}
	s.verifier, v.begun = v, 0
	v.sampled = slices.Grow(v.sampled[:0], len(v.tasks))[:len(v.tasks)]
	for i := range v.sampled {
		v.sampled[i].half = false
	}
}

// index returns the index of t among the sampled tasks of the section, -1 if t is not
// sampled.
func (v *verifier) index(t int) int {
	if v == nil {
		return -1
	}
	if i, ok := slices.BinarySearch(v.tasks, t); ok {
		return i
	}
	return -1
}

// first begins the next sampled task.
func (v *verifier) first() (task int, ok bool) {
	if v == nil || v.begun == len(v.tasks) {
		return 0, false
	}
	v.begun++
	return v.tasks[v.begun-1], true
}

// both reports whether two events have occurred for a task: it has run, and the section
// machine has assigned it to this replica. For a sampled task each event calls both, and
// the second call returns true. Other tasks run only after they are assigned.
func (v *verifier) both(t int) bool {
	i := v.index(t)
	if i < 0 {
		return true
	}
	x := &v.sampled[i]
	x.half = !x.half
	return !x.half
}
