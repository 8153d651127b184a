// Package slots keeps memory for the launches of generated code: the arguments of each
// launch, and the closures that call its kernel with them. Later sections reuse it, so a
// launch allocates nothing.
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
type pool interface{ release() }

type slots[A any] struct {
	all  []*Slot[A]
	used int
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

// Release makes all slots available to the next section. It clears the arguments.
func (l *List) Release() {
	for _, p := range l.pools {
		p.release()
	}
}

func (p *slots[A]) release() {
	var none A
	for _, s := range p.all[:p.used] {
		s.Arguments = none
		for i := range s.Regions {
			s.Regions[i].Forget(unsafe.Pointer(&s.Arguments), unsafe.Sizeof(none))
		}
	}
	p.used = 0
}
