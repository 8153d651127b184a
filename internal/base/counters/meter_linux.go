package counters

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Meter counts events in the tasks of a process. Counters belong to threads, so a task
// stays on one thread while it is counted. The first task on a thread opens the counters
// of that thread.
type Meter struct {
	open     opener
	counters []Counter
	sources  []event // sources of counters, by index
	sets     [][]int // indexes of the counters that perf counts, by set
	others   []int   // indexes of the counters that getrusage or the clock of the thread provides

	mu      sync.Mutex
	threads map[int]*thread // by thread ID; nil: the thread has no counters
}

// opener opens a counter of this thread. It is perf_event_open, except in tests.
type opener func(a *unix.PerfEventAttr, group int) (fd int, err error)

func openPerf(a *unix.PerfEventAttr, group int) (int, error) {
	return unix.PerfEventOpen(a, 0, -1, group, unix.PERF_FLAG_FD_CLOEXEC)
}

// New returns a meter for the part of those names that one replica counts, nil if names is
// empty.
func New(names []string, replica, replicas int) *Meter {
	if len(names) == 0 {
		return nil
	}
	return newMeter(names, replica, replicas, openPerf)
}

func newMeter(names []string, replica, replicas int, open opener) *Meter {
	m := &Meter{open: open, threads: make(map[int]*thread)}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	at := make(map[string]int)
	for _, set := range Split(names, replica, replicas, isHardware, isCommon) {
		var perf []int
		for _, name := range set {
			i, known := at[name]
			if !known {
				i = len(m.counters)
				at[name] = i
				m.sources = append(m.sources, events[name])
				m.counters = append(m.counters, m.probe(name))
				if from := m.counters[i].From; from == FromUsage || from == FromClock {
					m.others = append(m.others, i)
				}
			}
			if m.counters[i].From == FromPerf {
				perf = append(perf, i)
			}
		}
		if len(perf) > 0 {
			m.sets = append(m.sets, perf)
		}
	}
	return m
}

// probe determines how an event can be counted.
func (m *Meter) probe(name string) Counter {
	c, e := Counter{Name: name}, events[name]
	try := func() error {
		fd, err := m.open(e.attr(c.User), -1)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	err := try()
	if (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)) && !e.kernel {
		c.User = true
		err = try()
	}
	if err == nil {
		c.From = FromPerf
		return c
	}
	c.User, c.Why = false, reason(err)
	switch {
	case e.usage != nil:
		c.From = FromUsage
	case e.clock:
		c.From = FromClock
	}
	return c
}

func (e *event) attr(user bool) *unix.PerfEventAttr {
	a := &unix.PerfEventAttr{Type: e.kind, Config: e.config,
		Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	a.Size = uint32(unix.PERF_ATTR_SIZE_VER0)
	if user {
		a.Bits = unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	return a
}

// reason explains an error of perf_event_open.
func reason(err error) string {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		level := "?"
		if b, e := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); e == nil {
			level = strings.TrimSpace(string(b))
		}
		return fmt.Sprintf("not permitted, with /proc/sys/kernel/perf_event_paranoid at %s: sysctl kernel.perf_event_paranoid=1 permits it, or the capability CAP_PERFMON; in a container its seccomp profile has to let perf_event_open through", level)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EINVAL):
		return "no such counter here: virtual machines often have none of the hardware"
	case errors.Is(err, unix.ENOSYS):
		return "the kernel has no perf_event_open"
	}
	return "perf_event_open: " + err.Error()
}

// Counters returns how each event is counted on this system.
func (m *Meter) Counters() []Counter {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.counters)
}

// thread holds the counters of one thread.
type thread struct{ groups []group }

// group is a set of counters that are read together.
type group struct {
	fds []int
	of  []int // indexes in Meter.counters
}

// here returns the counters of this thread. The calling goroutine must be locked to the
// thread.
func (m *Meter) here(tid int) *thread {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, known := m.threads[tid]
	if known {
		return t
	}
	t = new(thread)
	m.threads[tid] = t
	for _, set := range m.sets {
		for len(set) > 0 {
			set = m.addGroup(t, set)
		}
	}
	return t
}

// addGroup opens as many counters of a set as fit into one group, and returns the rest.
// The kernel multiplexes groups.
func (m *Meter) addGroup(t *thread, set []int) (rest []int) {
	var g group
	for k, i := range set {
		a, leader := m.sources[i].attr(m.counters[i].User), -1
		if len(g.fds) > 0 {
			leader = g.fds[0]
		} else {
			a.Bits |= unix.PerfBitDisabled // disabled until the group is complete, because a member that is added later may not count
		}
		fd, err := m.open(a, leader)
		switch {
		case err == nil:
			g.fds, g.of = append(g.fds, fd), append(g.of, i)
		case leader >= 0 && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSPC)):
			rest = set[k:]
		default:
			m.counters[i].Why = "not on all threads: perf_event_open: " + err.Error()
		}
		if rest != nil {
			break
		}
	}
	if len(g.fds) > 0 {
		_ = unix.IoctlSetInt(g.fds[0], unix.PERF_EVENT_IOC_ENABLE, 0) // if this fails the times of the group stay 0, and it counts as not counted
		t.groups = append(t.groups, g)
	}
	return rest
}

// forget closes the counters of a thread that has ended, because another thread has its ID
// now.
func (m *Meter) forget(tid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.threads[tid].close()
	delete(m.threads, tid)
}

func (t *thread) close() {
	for _, g := range t.groups {
		for _, fd := range g.fds {
			unix.Close(fd)
		}
	}
}

// Close closes all counters.
func (m *Meter) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.threads {
		t.close()
	}
	clear(m.threads)
}
