//go:build linux

package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// x/sys has no names for these.
const (
	futexWait = 0
	futexWake = 1
)

// A sleeper looks around that often even if nobody wakes it: what a peer that
// died left undone must not matter.
const safetyNet = 500 * time.Millisecond

// bell is the futex word of one side. Its lowest bit says that the side
// sleeps and wants to be woken by its peer, the next one that the peer wants it
// to look although somebody attends; the others count what the side tells
// itself.
type bell struct {
	word *atomic.Uint32
	net  time.Duration // safetyNet, except in tests
}

const (
	asleep = 1
	urgent = 2
	told   = 4
)

// arm asks the peer for a wake-up, and returns the value to sleep on. The caller looks
// for work once more before it sleeps: either that look sees what the peer did, or the
// peer sees the bell. If the peer has rung by then, even for what was taken before, the
// word has another value, and nobody sleeps on it.
func (b bell) arm() uint32 { return b.word.Or(asleep) | asleep }

// rearm is arm by another goroutine than the sleeper's. It changes the count as
// well: the sleeper may be about to wait for the unarmed value, which the peer
// would restore by ringing, and then nobody would wake it.
func (b bell) rearm() {
	b.word.Add(told)
	b.word.Or(asleep)
}

func (b bell) unarm() { b.word.And(^uint32(asleep)) }

// disarm says that the sleeper is awake, and reports whether it was urged.
func (b bell) disarm() bool { return b.word.And(^uint32(asleep|urgent))&urgent != 0 }

// urge makes the other side look, whoever attends there.
func (b bell) urge() {
	b.word.Or(urgent)
	b.wake()
}

// wait sleeps as long as the word is v, which was read before the last look, and returns
// false if that takes long.
func (b bell) wait(v uint32) bool {
	timeout := unix.NsecToTimespec(int64(b.net))
	_, _, err := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.word)), futexWait, uintptr(v), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	return err != unix.ETIMEDOUT
}

// ring wakes the other side if it is asleep. It costs one load otherwise.
func (b bell) ring() {
	if b.word.Load()&asleep != 0 && b.word.And(^uint32(asleep))&asleep != 0 {
		b.wake()
	}
}

// tell wakes this side's own sleeper, or keeps it from falling asleep.
func (b bell) tell() {
	b.word.Add(told)
	b.wake()
}

func (b bell) wake() {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.word)), futexWake, 1, 0, 0, 0)
}
