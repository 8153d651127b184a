package counters

import (
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

// Reader counts events in one task after another. Only one goroutine may use it at a time.
type Reader struct {
	*Meter
	locked        bool
	tid           int
	here          *thread
	before, after reading
	buffer        []byte
	counted       []Count
}

// reading holds the values of all counters at a moment.
type reading struct {
	groups [][]uint64 // by group: the times enabled and running, then the counters
	others []int64
}

// Reader returns a reader. For a nil Meter it returns nil, on which all methods
// do nothing.
func (m *Meter) Reader() *Reader {
	if m == nil {
		return nil
	}
	return &Reader{Meter: m}
}

// Begin is called before a task, by its goroutine. It locks the goroutine to its
// thread until End or Abandon.
func (r *Reader) Begin() {
	if r == nil {
		return
	}
	runtime.LockOSThread()
	r.locked = true
	if tid := unix.Gettid(); r.here == nil || tid != r.tid {
		r.tid, r.here = tid, r.Meter.here(tid)
	}
	r.read(&r.before)
}

// Abandon replaces End if the task did not return. After End it does nothing.
func (r *Reader) Abandon() {
	if r != nil && r.locked {
		r.locked = false
		runtime.UnlockOSThread()
	}
}

// End is called after a task, and returns the counts since Begin, in the order of
// Counters. The next End overwrites the result.
func (r *Reader) End() (counted []Count) {
	if r == nil {
		return nil
	}
	r.read(&r.after)
	r.Abandon()
	if r.counted == nil {
		r.counted = make([]Count, len(r.counters))
	}
	counted = r.counted
	clear(counted)
	for i := range r.here.groups {
		a, b, of := r.before.groups[i], r.after.groups[i], r.here.groups[i].of
		if len(a) != len(b) || len(b) != 2+len(of) {
			continue
		}
		enabled, running := b[0]-a[0], b[1]-a[1]
		switch {
		case enabled == 0: // the counters belong to a thread that has ended
			r.forget(r.tid)
			r.here = nil
			clear(counted)
			return counted
		case running == 0: // the hardware did not count the group in this time
			continue
		}
		for k, c := range of {
			one := Count{float64(b[2+k]-a[2+k]) * float64(enabled) / float64(running), 1}
			if counted[c].Tasks == 0 { // count only once: an event like cycles is in several groups
				counted[c] = one
			}
		}
	}
	for k, c := range r.others {
		counted[c] = Count{float64(r.after.others[k] - r.before.others[k]), 1}
	}
	return counted
}

// read reads all counters of this thread.
func (r *Reader) read(to *reading) {
	if len(to.groups) != len(r.here.groups) {
		to.groups = make([][]uint64, len(r.here.groups))
	}
	for k, g := range r.here.groups {
		words := 3 + len(g.of)
		if cap(r.buffer) < 8*words {
			r.buffer = make([]byte, 8*words)
		}
		values := to.groups[k][:0]
		if n, err := unix.Read(g.fds[0], r.buffer[:8*words]); err == nil && n == 8*words {
			for i := 1; i < words; i++ { // the first word is the number of counters
				values = append(values, binary.NativeEndian.Uint64(r.buffer[8*i:]))
			}
		}
		to.groups[k] = values
	}
	to.others = to.others[:0]
	var u unix.Rusage
	asked := false
	for _, i := range r.others {
		if e := &r.sources[i]; e.clock {
			var t unix.Timespec
			_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every thread has this clock
			to.others = append(to.others, t.Nano())
			continue
		} else if !asked {
			_ = unix.Getrusage(unix.RUSAGE_THREAD, &u) // fails only for bad arguments
			asked = true
		}
		to.others = append(to.others, r.sources[i].usage(&u))
	}
}

// Used returns the resource usage of this process.
func Used() *Usage {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return nil
	}
	seconds := func(t unix.Timeval) float64 { return float64(t.Nano()) / 1e9 }
	return &Usage{User: seconds(u.Utime), System: seconds(u.Stime), MinorFaults: int64(u.Minflt), MajorFaults: int64(u.Majflt),
		Waited: int64(u.Nvcsw), Preempted: int64(u.Nivcsw), ResidentBytes: int64(u.Maxrss) << 10}
}
