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

// samples reports whether tasks are compared, some or all.
func (v *verifier) samples() bool { return v != nil && v.sampler.Share > 0 }

// sampleAll chooses all tasks of s, which each replica runs anyway: a wrong result of one
// would stay there alone, and make the replicas differ.
func (v *verifier) sampleAll(s *Section) {
	v.choose(s, verify.Sampler{Share: 1, Replicas: len(v.peers)})
}

// choose has the verifier compare the tasks of s that the sampler names.
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

// index returns which of the sampled tasks of the section t is, -1 if it is none.
func (v *verifier) index(t int) int {
	if v == nil {
		return -1
	}
	if i, ok := slices.BinarySearch(v.tasks, t); ok {
		return i
	}
	return -1
}

// first begins the next of the sampled tasks.
func (v *verifier) first() (task int, ok bool) {
	if v == nil || v.begun == len(v.tasks) {
		return 0, false
	}
	v.begun++
	return v.tasks[v.begun-1], true
}

// both reports whether a task has run and the section machine has had it run, at the
// second call for one that is sampled: that begins when it is its turn here.
func (v *verifier) both(t int) bool {
	i := v.index(t)
	if i < 0 {
		return true
	}
	x := &v.sampled[i]
	x.half = !x.half
	return !x.half
}
