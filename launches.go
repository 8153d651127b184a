package intra

import "github.com/intrahpc/intra/internal/replica/slots"

// launches is the memory of generated launches, by type of task. Later sections reuse it.
type launches struct {
	lists []*slots.List // by Task.number; nil: not used yet
	used  []*slots.List // those used in the open section
	uses  []bool        // by Task.number: it is in used
	tasks []int         // numbers of the types in used
}

func (l *launches) of(t *Task) *slots.List {
	if t.number >= len(l.lists) {
		l.lists = append(l.lists, make([]*slots.List, t.number+1-len(l.lists))...)
		l.uses = append(l.uses, make([]bool, t.number+1-len(l.uses))...)
	}
	list := l.lists[t.number]
	if l.uses[t.number] {
		return list
	}
	if list == nil {
		list = new(slots.List)
		l.lists[t.number] = list
	}
	l.uses[t.number] = true
	l.used, l.tasks = append(l.used, list), append(l.tasks, t.number)
	return list
}

// release makes the memory available to the next section.
func (l *launches) release() {
	for i, list := range l.used {
		list.Release()
		l.uses[l.tasks[i]] = false
	}
	l.used, l.tasks = l.used[:0], l.tasks[:0]
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
