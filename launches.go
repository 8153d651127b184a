package intra

import (
	"slices"

	"github.com/intrahpc/intra/internal/replica/slots"
)

// launches is the memory of generated launches, by type of task. Later sections reuse it.
type launches struct {
	types   []ofType // by Task.number
	used    []int    // numbers of the types used in the open section
	held    []int    // numbers of the types whose memory may hold arguments of ended sections
	section uint64   // number of sections that have released their memory
}

// ofType is the memory of launches of one type of task.
type ofType struct {
	list *slots.List // nil: not used yet
	open bool        // it is used in the open section
	held bool
	last uint64 // value of launches.section when a section released it last
}

// sectionsHeld is the number of sections after which arguments of a type of task are cleared, if no
// task of that type was launched in them. Loops of short sections hardly ever clear any.
const sectionsHeld = 8

func (l *launches) of(t *Task) *slots.List {
	if t.number >= len(l.types) {
		l.types = append(l.types, make([]ofType, t.number+1-len(l.types))...)
	}
	of := &l.types[t.number]
	if of.open {
		return of.list
	}
	if of.list == nil {
		of.list = new(slots.List)
	}
	of.open = true
	l.used = append(l.used, t.number)
	return of.list
}

// release makes the memory available to the next section.
func (l *launches) release() {
	l.section++
	for _, number := range l.used {
		of := &l.types[number]
		of.list.Rewind()
		if of.open, of.last = false, l.section; !of.held {
			of.held = true
			l.held = append(l.held, number)
		}
	}
	l.used = l.used[:0]
	l.held = slices.DeleteFunc(l.held, func(number int) bool {
		of := &l.types[number]
		if l.section-of.last >= sectionsHeld {
			of.list.Clear()
			of.held = false
		}
		return !of.held
	})
}

// Slots is for generated code: it returns the memory for launches of t in this section.
// Since it is a method, s can stay on the stack of its caller.
func (s *Section) Slots(t *Task) any {
	if s.in.p == nil || s.over() {
		return new(slots.List)
	}
	return s.in.p.slots.of(t)
}

// Results is for generated code: the partial results of the section.
func (s *Section) Results() any { return &s.in.results }
