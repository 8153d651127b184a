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

// memoryWindow is the minimum time for which a kill for lack of memory can explain a death. A
// process with much memory needs some time to release it.
const memoryWindow = 10 * time.Second

// memory counts the processes that the kernel has killed for lack of memory. It counts those
// in this agent's cgroup, which contains its processes. If the cgroup does not count kills, it
// counts those of the whole host.
type memory struct {
	file, key string // the file with the count, which follows key; "": no file counts kills
	where     string // the cgroup or host whose kills are counted, as named in reports

	mu    sync.Mutex
	known uint64 // kills that were attributed to a process, or are too old
	last  uint64 // kills at the last call of age
}

// watchMemory begins to count kills. root is the root of the file systems, which tests replace.
func watchMemory(root string) *memory {
	m := countsKills(root)
	m.known = m.count()
	m.last = m.known
	return m
}

// countsKills finds the file in which the kernel counts kills.
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
			if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 63); err == nil && n < 1<<60 { // cgroup v1 expresses no limit by a large number
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

// killed is called for a process that was killed, but not by the agent. If the kernel killed
// it for lack of memory, killed names the cgroup or host that ran out of it. Otherwise it
// returns "".
func (m *memory) killed() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known >= m.count() {
		return ""
	}
	m.known++
	return m.where
}

// age is called at regular intervals. A kill that was counted before the previous call no
// longer explains a death: its victim was another process.
func (m *memory) age() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = max(m.known, m.last)
	m.last = m.count()
}

// count returns the number of kills so far.
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
