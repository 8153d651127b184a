package affinity

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usable returns the cores on which this thread may run. They are ordered by memory node,
// package and core, so that neighbouring cores are adjacent.
func Usable() ([]Core, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("read on which processors this process may run: %w", err)
	}
	return group("/sys/devices/system/cpu", allowed.IsSet, len(allowed)*64), nil
}

// Allowed returns the processors that this thread may run on.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read on which processors this process may run: %w", err)
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// place is the position of a processor in the hardware.
type place struct{ node, pack, core, cpu int }

// group reads the places of the allowed processors below limit. An unknown node or package
// counts as 0. A processor of an unknown core counts as a core of its own.
func group(dir string, allowed func(cpu int) bool, limit int) []Core {
	var all []place
	for cpu := range limit {
		if !allowed(cpu) {
			continue
		}
		at := filepath.Join(dir, "cpu"+strconv.Itoa(cpu))
		p := place{cpu: cpu, pack: number(at, "physical_package_id", 0), core: number(at, "core_id", cpu)}
		if nodes, _ := filepath.Glob(filepath.Join(at, "node[0-9]*")); len(nodes) > 0 {
			p.node, _ = strconv.Atoi(strings.TrimPrefix(filepath.Base(nodes[0]), "node"))
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b place) int {
		return slices.Compare([]int{a.node, a.pack, a.core, a.cpu}, []int{b.node, b.pack, b.core, b.cpu})
	})
	var cores []Core
	for i, p := range all {
		if i > 0 && all[i-1].node == p.node && all[i-1].pack == p.pack && all[i-1].core == p.core {
			cores[len(cores)-1] = append(cores[len(cores)-1], p.cpu)
			continue
		}
		cores = append(cores, Core{p.cpu})
	}
	return cores
}

func number(cpu, name string, unknown int) int {
	b, err := os.ReadFile(filepath.Join(cpu, "topology", name))
	if err != nil {
		return unknown
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 0 {
		return unknown
	}
	return n
}

// During calls f while this thread may run only on those processors. The calling goroutine
// must be locked to the thread. Processes that f starts inherit the restriction. Without
// processors, During only calls f.
func During(cpus []int, f func() error) error {
	if len(cpus) == 0 {
		return f()
	}
	var before, bound unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read on which processors this thread may run: %w", err)
	}
	for _, cpu := range cpus {
		bound.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &bound); err != nil {
		return fmt.Errorf("bind to processors %v: %w", cpus, err)
	}
	err := f()
	if e := unix.SchedSetaffinity(0, &before); e != nil && err == nil {
		err = fmt.Errorf("be bound to no processor again: %w", e)
	}
	return err
}
