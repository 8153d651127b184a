package supervise

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memoryWindow is how long, at least, after a kill for want of memory a death is put down to
// it: a process with much memory takes its time to give that back.
const memoryWindow = 10 * time.Second

// memory counts the processes that the kernel has killed for want of memory, as far as that
// concerns this agent: those of its cgroup, in which its processes are, or of the whole host
// where that does not count them.
type memory struct {
	file, key string // the count stands behind the key in the file; "": nothing counts them
	where     string // for people

	mu    sync.Mutex
	known uint64 // kills that a process was found for, or that are too old
	last  uint64 // kills at the last call of age
}

// watchMemory counts from now on. The root of the file systems is for tests.
func watchMemory(root string) *memory {
	m := countsKills(root)
	m.known = m.count()
	m.last = m.known
	return m
}

// countsKills finds what counts kills.
func countsKills(root string) *memory {
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // without cgroups there are none
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 {
			continue
		}
		name, dir, file, limit := part[2], "", "memory.events", "memory.max"
		switch {
		case part[0] == "0" && part[1] == "":
			dir = filepath.Join(root, "sys/fs/cgroup", name)
		case part[1] == "memory":
			dir, file, limit = filepath.Join(root, "sys/fs/cgroup/memory", name), "memory.oom_control", "memory.limit_in_bytes"
		default:
			continue
		}
		m := &memory{file: filepath.Join(dir, file), key: "oom_kill", where: "in cgroup " + name}
		if _, ok := m.read(); !ok {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(dir, limit)); err == nil {
			if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 63); err == nil && n < 1<<60 { // the first version has a number for none, too
				m.where += fmt.Sprintf(", whose limit is %d MB", n>>20)
			}
		}
		return m
	}
	m := &memory{file: filepath.Join(root, "proc/vmstat"), key: "oom_kill", where: "on this host"}
	if _, ok := m.read(); !ok {
		return new(memory)
	}
	return m
}

// killed is asked about a process that was killed, and not by the agent. It says where
// memory was short if that was for want of it, and "" if it was not.
func (m *memory) killed() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known >= m.count() {
		return ""
	}
	m.known++
	return m.where
}

// age is called every now and then: a kill before the call before this one explains no death
// from now on. It was one of other processes.
func (m *memory) age() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = max(m.known, m.last)
	m.last = m.count()
}

// count is how many were killed so far.
func (m *memory) count() uint64 {
	n, _ := m.read()
	return n
}

func (m *memory) read() (n uint64, ok bool) {
	b, err := os.ReadFile(m.file)
	if err != nil {
		return 0, false
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if key, value, _ := strings.Cut(s.Text(), " "); key == m.key {
			n, err := strconv.ParseUint(value, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
