//go:build linux

package shm

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// group is the set of links that one goroutine serves.
type group struct {
	alone bool          // it has one link and does not use futex_waitv
	net   time.Duration // the longest sleep, see safetyNet
	wakes atomic.Uint32 // incremented to wake run

	mu    sync.Mutex
	links []*link // links that have not ended; run runs while there are any

	futexes []futex // used by run
}

// watch is the state of a link in run.
type watch struct {
	value uint32 // value of the bell to sleep on
	due   bool   // look at the link even if its bell has not changed
	urged bool   // look at the link even if a goroutine attends to it
}

// add reports whether the group had room for the link.
func (g *group) add(l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.links) == waitvMax-1 {
		return false
	}
	l.watch.due = true
	if g.links = append(g.links, l); len(g.links) == 1 {
		go g.run()
		return true
	}
	g.wakes.Add(1)
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&g.wakes)), futexWake|futexPrivate, 1, 0, 0, 0)
	return true
}

// remove removes a link that has ended, and reports whether it was the last one.
func (g *group) remove(l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.links, l)
	g.links = slices.Delete(g.links, i, i+1)
	return len(g.links) == 0
}

// run moves the links to which no other goroutine attends, and ends links, until
// none is left.
func (g *group) run() {
	var links, due []*link
	for {
		wakes := g.wakes.Load()
		clear(links) // keep no reference to a link that has ended
		clear(due)
		g.mu.Lock()
		links = append(links[:0], g.links...)
		g.mu.Unlock()
		due = due[:0]
		for _, l := range links {
			if w := &l.watch; w.due || l.own.word.Load() != w.value {
				w.due, w.urged = true, l.own.disarm() || w.urged
				due = append(due, l)
			}
		}
		again := !moveAll(due)
		for i := 0; i < len(due) && !again; i++ {
			switch l := due[i]; {
			case !l.settle():
				again = true
			case l.unmapIfEnded():
				if g.remove(l) {
					return
				}
				again = true
			}
		}
		if !again && !g.wait(links, wakes) {
			for _, l := range links {
				l.watch.due = true
			}
		}
	}
}

// moveAll moves links until there is nothing to move, and returns true. After a
// number of rounds it returns false, so that other links get their turn.
func moveAll(links []*link) bool {
	for idle, rounds := 0, 0; idle < lingers; idle++ {
		for _, l := range links {
			if (l.watch.urged || l.mine()) && l.work() {
				idle = 0
			}
		}
		if rounds++; rounds == fair {
			return false
		}
		runtime.Gosched()
	}
	return true
}

const (
	lingers = 3  // idle rounds before run sleeps, so that a peer that is still sending need not wake it
	fair    = 20 // rounds until links that were not due are checked, too
)

// settle arms the bell and looks once more. It reports whether there was nothing to move,
// so that the link may sleep.
func (l *link) settle() bool {
	value := l.arm()
	if value&urgent != 0 || l.mine() && l.work() {
		return false
	}
	l.watch = watch{value: value}
	return true
}

// wait sleeps until a bell or the group's own word changes from the value read
// before the last look. It returns false on timeout.
func (g *group) wait(links []*link, wakes uint32) bool {
	if g.alone {
		return links[0].own.wait(links[0].watch.value)
	}
	g.futexes = append(g.futexes[:0], futexOf(&g.wakes, wakes, futex32|futexPrivate))
	for _, l := range links {
		g.futexes = append(g.futexes, futexOf(l.own.word, l.watch.value, futex32))
	}
	return waitAny(g.futexes, g.net)
}

// futex is a futex_waitv of the kernel.
type futex struct {
	value   uint64
	address uint64
	flags   uint32
	_       uint32
}

// Constants that x/sys does not define.
const (
	waitvMax     = 128 // maximum number of futexes in one call
	futex32      = 2   // the futex has 32 bits
	futexPrivate = 128 // the futex belongs to one process
)

// futexOf needs memory that does not move and that the caller keeps alive: the
// segment of a link of the group, or the group.
func futexOf(word *atomic.Uint32, value, flags uint32) futex {
	return futex{value: uint64(value), address: uint64(uintptr(unsafe.Pointer(word))), flags: flags}
}

// waitAny sleeps while every word has its value. It returns false on timeout or
// failure.
func waitAny(futexes []futex, net time.Duration) bool {
	var end unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &end)
	end = unix.NsecToTimespec(end.Nano() + int64(net))
	_, _, err := unix.Syscall6(unix.SYS_FUTEX_WAITV, uintptr(unsafe.Pointer(&futexes[0])), uintptr(len(futexes)), 0,
		uintptr(unsafe.Pointer(&end)), unix.CLOCK_MONOTONIC, 0)
	switch err {
	case 0, unix.EAGAIN, unix.EINTR:
		return true
	case unix.ETIMEDOUT:
	default: // for example, the kernel lacks memory: retry, but not in a busy loop
		time.Sleep(time.Millisecond)
	}
	return false
}
