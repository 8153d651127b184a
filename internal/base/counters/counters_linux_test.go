package counters

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestParse(t *testing.T) {
	names, err := Parse("cycles, page-faults,LLC-load-misses")
	require.NoError(t, err)
	require.Equal(t, []string{"cycles", "page-faults", "LLC-load-misses"}, names)
	for list, want := range map[string]string{
		"":                "there is no counter \"\": want some of L1-dcache-load-misses, ",
		"cycle":           "task-clock",
		"cycles,cycles":   "cycles is there twice",
		"page-faults,,":   "there is no counter \"\"",
		"cycles;branches": "there is no counter \"cycles;branches\"",
	} {
		_, err := Parse(list)
		require.ErrorContains(t, err, want, list)
	}
}

func TestSplit(t *testing.T) {
	all := []string{"cycles", "cache-misses", "page-faults", "branches", "instructions", "task-clock", "LLC-loads", "bus-cycles", "ref-cycles"}
	for _, tt := range []struct {
		name              string
		names             []string
		replica, replicas int
		want              [][]string
	}{
		{"one replica", all, 0, 1, [][]string{{"cycles", "instructions", "cache-misses", "branches", "LLC-loads"},
			{"cycles", "instructions", "bus-cycles", "ref-cycles"}, {"page-faults", "task-clock"}}},
		{"first of two", all, 0, 2, [][]string{{"cycles", "instructions", "cache-misses", "branches", "LLC-loads"}, {"cycles", "instructions", "ref-cycles"}}},
		{"second of two", all, 1, 2, [][]string{{"cycles", "instructions", "bus-cycles"}, {"page-faults", "task-clock"}}},
		{"software only", []string{"page-faults", "task-clock"}, 1, 2, [][]string{{"task-clock"}}},
		{"nothing left", []string{"page-faults"}, 1, 2, nil},
		{"common only", []string{"cycles"}, 1, 2, [][]string{{"cycles"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Split(tt.names, tt.replica, tt.replicas, isHardware, isCommon))
		})
	}
}

// touch uses the given number of pages, each for the first time.
func touch(t *testing.T, pages int) (do func()) {
	size := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	require.NoError(t, unix.Madvise(mem, unix.MADV_NOHUGEPAGE))
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return func() {
		for i := range pages {
			mem[i*size] = 1
		}
	}
}

// refuse is an opener that fails for all requests with the error that err returns.
func refuse(err func(a *unix.PerfEventAttr, group int) error) opener {
	return func(a *unix.PerfEventAttr, group int) (int, error) {
		if e := err(a, group); e != nil {
			return -1, e
		}
		return openPerf(a, group)
	}
}

func TestCountedEvents(t *testing.T) {
	names := []string{"task-clock", "page-faults", "context-switches"}
	for name, tt := range map[string]struct {
		open opener
		from []string
	}{
		"by perf": {openPerf, nil}, // as far as this system permits it
		"one by one": {refuse(func(_ *unix.PerfEventAttr, group int) error {
			if group >= 0 {
				return unix.EINVAL
			}
			return nil
		}), nil},
		"not permitted": {refuse(func(*unix.PerfEventAttr, int) error { return unix.EACCES }), []string{FromClock, FromUsage, FromUsage}},
		"no perf":       {refuse(func(*unix.PerfEventAttr, int) error { return unix.ENOSYS }), []string{FromClock, FromUsage, FromUsage}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeter(names, 0, 1, tt.open)
			defer m.Close()
			for i, want := range tt.from {
				require.Equal(t, want, m.Counters()[i].From)
				require.NotEmpty(t, m.Counters()[i].Why)
			}
			const pages = 100
			r, do := m.Reader(), touch(t, pages)
			var sum [3]Count
			for range 2 { // in the second run all pages exist
				r.Begin()
				do()
				for i, c := range r.End() {
					sum[i].Add(c)
				}
			}
			require.Equal(t, int64(2), sum[0].Tasks)
			require.Positive(t, sum[0].Count)
			require.GreaterOrEqual(t, sum[1].Count, float64(pages))
			require.Less(t, sum[1].Count, 2.0*pages)
			require.Equal(t, int64(2), sum[2].Tasks)
		})
	}
}

// TestNoSuchCounter tests the error of virtual machines without hardware counters.
func TestNoSuchCounter(t *testing.T) {
	m := newMeter([]string{"cycles", "cpu-migrations", "page-faults"}, 0, 1, refuse(func(a *unix.PerfEventAttr, _ int) error {
		switch {
		case a.Type == unix.PERF_TYPE_HARDWARE:
			return unix.ENOENT
		case a.Bits&unix.PerfBitExcludeKernel == 0:
			return unix.EACCES
		}
		return nil
	}))
	defer m.Close()
	c := m.Counters()
	require.Equal(t, "cycles is not counted: no such counter here: virtual machines often have none of the hardware", c[0].String())
	require.Regexp(t, `^cpu-migrations is not counted: not permitted, with /proc/sys/kernel/perf_event_paranoid at -?\d: sysctl kernel.perf_event_paranoid=1 permits it`, c[1])
	if c[2].From == FromPerf { // some sandboxes do not permit it
		require.Equal(t, "page-faults is counted outside the kernel only", c[2].String())
	}
	r := m.Reader()
	r.Begin()
	counted := r.End()
	require.Zero(t, counted[0])
	require.Zero(t, counted[1])
	require.Equal(t, int64(1), counted[2].Tasks)
}

// TestThreads requires that each thread has its own counters, even if it has the number of
// a thread that has ended.
func TestThreads(t *testing.T) {
	m := newMeter([]string{"page-faults"}, 0, 1, openPerf)
	defer m.Close()
	for range 3 {
		ended := make(chan Count)
		do := touch(t, 10)
		go func() {
			runtime.LockOSThread() // the thread ends with this goroutine
			r := m.Reader()
			for range 2 { // the first thread may find the counters of an ended thread
				r.Begin()
				do()
				if c := r.End()[0]; c.Tasks == 1 {
					ended <- c
					return
				}
			}
			ended <- Count{}
		}()
		require.Equal(t, int64(1), (<-ended).Tasks)
	}
}

// TestNoCounters requires that counters that are off do nothing.
func TestNoCounters(t *testing.T) {
	m := New(nil, 0, 2)
	require.Nil(t, m)
	r := m.Reader()
	require.Zero(t, testing.AllocsPerRun(10, func() {
		r.Begin()
		require.Nil(t, r.End())
		r.Abandon()
	}))
	require.Nil(t, m.Counters())
	m.Close()
}

func TestUsed(t *testing.T) {
	before := Used()
	touch(t, 50)()
	after := Used()
	require.GreaterOrEqual(t, after.MinorFaults+after.MajorFaults, before.MinorFaults+before.MajorFaults+50)
	require.Positive(t, after.ResidentBytes)
}

// BenchmarkTask measures how much time counting adds to a task.
func BenchmarkTask(b *testing.B) {
	for name, names := range map[string][]string{"off": nil, "one": {"page-faults"}, "four": {"page-faults", "task-clock", "minor-faults", "context-switches"}} {
		b.Run(name, func(b *testing.B) {
			r := New(names, 0, 1).Reader()
			for b.Loop() {
				r.Begin()
				r.End()
			}
		})
	}
}
