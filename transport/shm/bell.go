//go:build linux

package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants that x/sys does not define.
const (
	futexWait = 0
	futexWake = 1
)

// A sleeper checks for work at this interval even if no process wakes it. Otherwise it
// would sleep forever if its peer died after publishing a frame and before ringing the
// bell.
const safetyNet = 500 * time.Millisecond

// bell is the futex word of one side. The lowest bit means that the side sleeps, or is
// about to sleep, and that its peer must wake it. The next bit means that the side must
// look for work even if a goroutine attends to the link. The other bits count the calls of
// tell and rearm by the side itself.
type bell struct {
	word *atomic.Uint32
	net  time.Duration // safetyNet, except in tests
}

const (
	asleep  = 1
	urgent  = 2
	oneCall = 4
)

// arm asks the peer for a wake-up, and returns the value to sleep on. The caller looks for
// work once more before it sleeps: either that look sees the peer's change, or the peer
// sees the armed bell. If the peer has rung by then, even for earlier work, the word has
// changed and the futex call returns at once.
func (b bell) arm() uint32 { return b.word.Or(asleep) | asleep }

// rearm is arm for a goroutine other than the sleeper. It also changes the count.
// Otherwise the sleeper, about to wait for the unarmed value, could miss the
// wake-up: a ring of the peer would restore exactly that value.
func (b bell) rearm() {
	b.word.Add(oneCall)
	b.word.Or(asleep)
}

func (b bell) unarm() { b.word.And(^uint32(asleep)) }

// disarm marks the sleeper awake, and reports whether urge was called.
func (b bell) disarm() bool { return b.word.And(^uint32(asleep|urgent))&urgent != 0 }

// urge makes the side of the bell look for work, even if a goroutine attends to the link
// there.
func (b bell) urge() {
	b.word.Or(urgent)
	b.wake()
}

// wait sleeps while the word is v, which must have been read before the last look
// for work. It returns false on timeout.
func (b bell) wait(v uint32) bool {
	timeout := unix.NsecToTimespec(int64(b.net))
	_, _, err := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.word)), futexWait, uintptr(v), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	return err != unix.ETIMEDOUT
}

// ring wakes the other side if it is asleep. Otherwise it costs one load.
func (b bell) ring() {
	if b.word.Load()&asleep != 0 && b.word.And(^uint32(asleep))&asleep != 0 {
		b.wake()
	}
}

// tell wakes this side's own sleeper, or keeps it from falling asleep.
func (b bell) tell() {
	b.word.Add(oneCall)
	b.wake()
}

func (b bell) wake() {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.word)), futexWake, 1, 0, 0, 0)
}
