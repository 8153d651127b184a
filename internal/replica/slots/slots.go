// Package slots keeps memory for the launches of generated code: the arguments of each
// launch, and the closures that call its kernel with them. Later sections reuse it, so a
// launch allocates nothing. Arguments stay in that memory until they are replaced or
// cleared, because clearing takes about a tenth of the time of a short section.
package slots

import (
	"unsafe"

	"github.com/intrahpc/intra/update"
)

// Slot is the memory of one launch.
type Slot[A any] struct {
	Arguments A
	Body      func()           // calls the kernel with Arguments; nil: not made yet
	Part      func(lo, hi int) // calls the kernel for a range of elements
	Regions   []update.Region  // regions of the launch; those of memory in Arguments never change
}

// List is the memory of all launches of one type of task.
type List struct {
	last  pool // the pool used last
	pools []pool
}

// pool holds the slots of launches whose arguments have the same type. A generic kernel
// has several such types.
type pool interface {
	rewind()
	clear()
}

type slots[A any] struct {
	all  []*Slot[A]
	used int // number of slots used in the open section
	held int // number of slots, from the first, that may hold arguments of earlier sections
}

// together is the number of slots allocated at once, because most loops launch that many
// tasks.
const together = 16

// Next returns the slot of the next launch. The slot belongs to the launch until Release.
func Next[A any](l *List) *Slot[A] {
	p, ok := l.last.(*slots[A])
	if !ok {
		p = find[A](l)
	}
	if p.used == len(p.all) {
		more := make([]Slot[A], together)
		for i := range more {
			p.all = append(p.all, &more[i])
		}
	}
	slot := p.all[p.used]
	p.used++
	return slot
}

func find[A any](l *List) *slots[A] {
	for _, p := range l.pools {
		if p, ok := p.(*slots[A]); ok {
			l.last = p
			return p
		}
	}
	p := new(slots[A])
	l.pools = append(l.pools, p)
	l.last = p
	return p
}

// Rewind makes all slots available to the next section. It clears those that the previous section
// has used and this one has not.
func (l *List) Rewind() {
	for _, p := range l.pools {
		p.rewind()
	}
}

// Clear clears the arguments in all slots. It is called after Rewind.
func (l *List) Clear() {
	for _, p := range l.pools {
		p.clear()
	}
}

func (p *slots[A]) rewind() {
	used := p.used
	for p.held > used {
		p.held--
		p.all[p.held].clear()
	}
	p.used, p.held = 0, used
}

func (p *slots[A]) clear() {
	for _, s := range p.all[:p.held] {
		s.clear()
	}
	p.held = 0
}

func (s *Slot[A]) clear() {
	var none A
	s.Arguments = none
	for i := range s.Regions {
		s.Regions[i].Forget(unsafe.Pointer(&s.Arguments), unsafe.Sizeof(none))
	}
}
