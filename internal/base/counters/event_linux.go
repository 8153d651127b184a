package counters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// event describes a counter for perf_event_open. The map events lists the counters by
// perf's names.
type event struct {
	kind   uint32
	config uint64
	kernel bool // the event occurs only in the kernel, so it cannot be counted outside
	usage  func(*unix.Rusage) int64
	clock  bool // the clock of the thread gives the same count
}

func (e *event) hardware() bool { return e.kind != unix.PERF_TYPE_SOFTWARE }

func hardware(config uint64) event { return event{kind: unix.PERF_TYPE_HARDWARE, config: config} }

func software(config uint64) event { return event{kind: unix.PERF_TYPE_SOFTWARE, config: config} }

// cache returns the event of the reads of a cache, or of those that missed.
func cache(which, result uint64) event {
	return event{kind: unix.PERF_TYPE_HW_CACHE, config: which | unix.PERF_COUNT_HW_CACHE_OP_READ<<8 | result<<16}
}

var events = map[string]event{
	"cycles":                  hardware(unix.PERF_COUNT_HW_CPU_CYCLES),
	"instructions":            hardware(unix.PERF_COUNT_HW_INSTRUCTIONS),
	"cache-references":        hardware(unix.PERF_COUNT_HW_CACHE_REFERENCES),
	"cache-misses":            hardware(unix.PERF_COUNT_HW_CACHE_MISSES),
	"branches":                hardware(unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
	"branch-misses":           hardware(unix.PERF_COUNT_HW_BRANCH_MISSES),
	"bus-cycles":              hardware(unix.PERF_COUNT_HW_BUS_CYCLES),
	"ref-cycles":              hardware(unix.PERF_COUNT_HW_REF_CPU_CYCLES),
	"stalled-cycles-frontend": hardware(unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
	"stalled-cycles-backend":  hardware(unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND),

	"L1-dcache-loads":       cache(unix.PERF_COUNT_HW_CACHE_L1D, unix.PERF_COUNT_HW_CACHE_RESULT_ACCESS),
	"L1-dcache-load-misses": cache(unix.PERF_COUNT_HW_CACHE_L1D, unix.PERF_COUNT_HW_CACHE_RESULT_MISS),
	"LLC-loads":             cache(unix.PERF_COUNT_HW_CACHE_LL, unix.PERF_COUNT_HW_CACHE_RESULT_ACCESS),
	"LLC-load-misses":       cache(unix.PERF_COUNT_HW_CACHE_LL, unix.PERF_COUNT_HW_CACHE_RESULT_MISS),
	"dTLB-loads":            cache(unix.PERF_COUNT_HW_CACHE_DTLB, unix.PERF_COUNT_HW_CACHE_RESULT_ACCESS),
	"dTLB-load-misses":      cache(unix.PERF_COUNT_HW_CACHE_DTLB, unix.PERF_COUNT_HW_CACHE_RESULT_MISS),
	"iTLB-load-misses":      cache(unix.PERF_COUNT_HW_CACHE_ITLB, unix.PERF_COUNT_HW_CACHE_RESULT_MISS),

	"task-clock": {kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_TASK_CLOCK, clock: true},
	"page-faults": {kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_PAGE_FAULTS,
		usage: func(u *unix.Rusage) int64 { return int64(u.Minflt + u.Majflt) }},
	"minor-faults": {kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN,
		usage: func(u *unix.Rusage) int64 { return int64(u.Minflt) }},
	"major-faults": {kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		usage: func(u *unix.Rusage) int64 { return int64(u.Majflt) }},
	"context-switches": {kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, kernel: true,
		usage: func(u *unix.Rusage) int64 { return int64(u.Nvcsw + u.Nivcsw) }},
	"cpu-migrations":   {kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_CPU_MIGRATIONS, kernel: true},
	"alignment-faults": software(unix.PERF_COUNT_SW_ALIGNMENT_FAULTS),
}

// Parse parses a comma-separated list of counters.
func Parse(list string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if _, ok := events[name]; !ok {
			return nil, fmt.Errorf("there is no counter %q: want some of %s", name, strings.Join(slices.Sorted(maps.Keys(events)), ", "))
		}
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		names = append(names, name)
	}
	return names, nil
}

func isHardware(name string) bool { e := events[name]; return e.hardware() }

// isCommon reports whether the counts of other events are relative to this one.
func isCommon(name string) bool { return name == "cycles" || name == "instructions" }
