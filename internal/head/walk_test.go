package head

import (
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func at(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }

// specs are the jobs of the walks.
var specs = []spec{
	{name: "plain", degrees: []int{2, 1}, nodes: 1, steps: 3, faults: 3, stops: true, links: true},
	{name: "kills", degrees: []int{2, 2}, nodes: 1, steps: 4, faults: 1,
		kills: []job.Kill{{Process: at(0, 1), Point: job.KillSection, Count: 2}, {Process: at(1, 0), Point: job.KillAfter, After: time.Millisecond}}},
	{name: "signal", degrees: []int{2, 2}, nodes: 1, steps: 5, faults: 1, signals: true},
	{name: "two hosts", degrees: []int{2, 2}, nodes: 2, steps: 4, faults: 3, hosts: true, stops: true, links: true, retires: true},
	{name: "hosts", degrees: []int{2, 2}, nodes: 3, steps: 4, faults: 3, hosts: true, stops: true, links: true, heads: 3},
	{name: "start fails", degrees: []int{3, 2}, nodes: 3, steps: 2, faults: 1, unreliable: true, heads: 2},
	{name: "heads and kills", degrees: []int{3, 2}, nodes: 4, steps: 5, faults: 1, heads: 3, signals: true, direct: true,
		kills: []job.Kill{{Process: at(0, 1), Point: job.KillSection, Count: 2}, {Process: at(1, 0), Point: job.KillAfter, After: time.Millisecond}}},
	{name: "weibull", degrees: []int{3, 3}, nodes: 3, steps: 6, heads: 3, replace: true, weibull: &Weibull{Shape: 0.7, MTBF: 40 * time.Millisecond, Seed: 3}},
	{name: "replace", degrees: []int{2, 2}, nodes: 1, steps: 8, faults: 4, replace: true, stops: true, links: true, unreliable: true},
	{name: "replace on hosts", degrees: []int{2, 3}, nodes: 4, steps: 8, faults: 4, replace: true, hosts: true, stops: true, links: true, heads: 4},
	{name: "spares", degrees: []int{2, 2}, nodes: 4, steps: 8, faults: 4, spares: 2, hosts: true, stops: true, heads: 4},
	{name: "spares and more", degrees: []int{2, 2}, nodes: 4, steps: 8, faults: 4, spares: 1, replace: true, hosts: true, heads: 4, unreliable: true},
	{name: "backup", degrees: []int{1, 1, 1}, nodes: 1, steps: 9, faults: 4, replace: true, backup: 2},
	{name: "backup on hosts", degrees: []int{1, 2, 1}, nodes: 5, steps: 9, faults: 4, replace: true, backup: 2, hosts: true, links: true, heads: 4},
	{name: "backup with spares", degrees: []int{1, 1, 2}, nodes: 5, steps: 9, faults: 4, spares: 3, auto: true, hosts: true, heads: 4},
	{name: "files", degrees: []int{2, 1}, nodes: 3, steps: 9, faults: 2, files: 2, hosts: true, heads: 3},
	{name: "restart", degrees: []int{2, 2}, nodes: 3, steps: 9, faults: 3, replace: true, backup: 3, files: 2, restart: true, heads: 4},
	{name: "everything", degrees: []int{2, 1, 2}, nodes: 5, steps: 9, faults: 5, replace: true, spares: 1, backup: 2, files: 3, hosts: true, links: true, stops: true, unreliable: true, heads: 5},
	{name: "states", degrees: []int{2, 3}, nodes: 4, steps: 12, faults: 5, replace: true, backup: 2, hosts: true, heads: 3, states: true},
	{name: "convicted", degrees: []int{2, 3}, nodes: 4, steps: 12, faults: 5, replace: true, backup: 2, hosts: true, heads: 3, sample: true},
	{name: "slow log", degrees: []int{2, 1}, nodes: 4, spares: 2, steps: 3, faults: 1, hosts: true, heads: 2, slow: true},
	{name: "leaves", degrees: []int{2, 1}, nodes: 4, steps: 12, faults: 2, replace: true, hosts: true, links: true, heads: 3, leaves: 3},
	{name: "leaves and rolls back", degrees: []int{1, 2, 1}, nodes: 5, steps: 12, faults: 3, replace: true, spares: 1, backup: 2, files: 3, hosts: true, heads: 3, unreliable: true, leaves: 4},
	{name: "joins", degrees: []int{2, 1}, nodes: 3, slots: 1, steps: 14, faults: 3, replace: true, hosts: true, heads: 3, leaves: 2, joins: 3},
	{name: "joins and rolls back", degrees: []int{1, 1, 1}, nodes: 4, slots: 1, steps: 14, faults: 3, replace: true, backup: 2, hosts: true, heads: 2, leaves: 2, joins: 4},
	{name: "grows", degrees: []int{3, 2}, nodes: 3, slots: 1, vacant: 1, steps: 14, faults: 3, replace: true, hosts: true, heads: 4, leaves: 1, joins: 4},
	{name: "grows and rolls back", degrees: []int{2, 2, 2}, nodes: 4, slots: 1, vacant: 1, steps: 14, faults: 3, replace: true, spares: 1, backup: 2, files: 3, hosts: true, heads: 2, leaves: 1, joins: 4},
	{name: "degrees", degrees: []int{3, 2}, nodes: 3, slots: 2, steps: 16, faults: 2, replace: true, hosts: true, heads: 3, leaves: 1, joins: 1, changes: 6},
	{name: "degrees and rolls back", degrees: []int{2, 3, 2}, nodes: 4, slots: 2, vacant: 1, steps: 16, faults: 3, replace: true, spares: 1, backup: 2, files: 3, hosts: true, heads: 2, unreliable: true, leaves: 2, joins: 2, changes: 6},
	{name: "grows from files", degrees: []int{2, 2}, nodes: 3, slots: 2, vacant: 1, steps: 9, faults: 2, replace: true, restart: true, heads: 2, joins: 2},
	{name: "joins with spares", degrees: []int{2, 2}, nodes: 3, steps: 14, faults: 5, spares: 1, hosts: true, heads: 3, unreliable: true, leaves: 1, joins: 4},
}

// happens lists events that must occur in the walks. Without them the walks prove nothing.
var happens = []string{"a head is lost", "a head is lost before all had joined", "a head is lost after a replacement", "a head is lost in a rollback",
	"a host is lost", "a kill is carried out", "a link is broken", "an end of a link is fenced", "a control connection is unusable", "a process is killed", "a process is stopped",
	"a stopped process is fenced", "a process cannot be started", "a program ends before its wrapper", "a process rolls back", "one fault after another", "states differ", "results differ", "a program fails", "a program fails for good", "a process is blamed", "the job rolls back for a blamed process", "back to an older backup",
	"exit code 0", "exit code 1", "exit code 2", "exit code 3", "exit code 4", "exit code 130", "exit code 143",
	"kept admitted", "kept complete", "kept rolledback", "kept resumed", "kept fired", "kept injected", "kept withdrawn", "kept set done", "kept set abandoned", "kept lost",
	"a process is relieved", "the last replica is relieved", "a spare relieves a process", "a process that leaves is fenced", "a host has left", "a host leaves", "a process leaves", "an agent ends at once",
	"a relief replaces a dead process", "a relief dies", "a head is lost while a process is relieved",
	"a host is ready to join", "a host joins and is lost at once", "a process moves to a host that has joined", "a process is replaced on a host that has joined",
	"a spare is started on a host that has joined", "a late spare cannot be started", "a late spare gets a slot", "a head is lost after a late spare was started",
	"a rank gets another replica", "a head is lost while a slot is vacant", "a head is lost while a host joins", "a head is lost after a host has joined",
	"kept degrees", "a process is let go", "a process that has joined is let go", "a process that was to be let go stays", "a head is lost after a process was let go",
	"a head is to leave", "a head hands over", "a head hands over, and a host beside it leaves", "a job is interrupted", "exit code 7", "a head is lost while it hands over", "kept resigned",
	"lost: the backup", "order renew", "order admit", "order rollback"}

// walks returns the number of seeds for each kind of job. INTRA_SOAK sets the
// number for all kinds together.
func walks(t *testing.T) int {
	s := os.Getenv("INTRA_SOAK")
	if s == "" {
		return 150
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return max(n/len(specs), 1)
}

// TestWalks runs jobs through schedules in which anything may fail at any time.
func TestWalks(t *testing.T) {
	var mu sync.Mutex
	all := make(map[string]int)
	t.Run("all", func(t *testing.T) {
		for i, s := range specs {
			t.Run(s.name, func(t *testing.T) {
				many := walks(t)
				if s.changes > 0 {
					many *= 2 // a process that was to be let go seldom stays
				}
				for n := range many {
					seed := uint64(n)<<8 | uint64(i)
					seen := walk(t, s, seed)
					mu.Lock()
					for what, n := range seen {
						all[what] += n
					}
					mu.Unlock()
				}
			})
		}
	})
	if !t.Failed() && walks(t) >= 150 {
		for _, what := range happens {
			require.Positive(t, all[what], "this has happened in no walk: %s", what)
		}
	}
	if testing.Verbose() {
		for _, what := range slices.Sorted(maps.Keys(all)) {
			t.Logf("%8d %s", all[what], what)
		}
	}
}

// walk runs one job through the schedule of a seed. It prints a job that fails.
func walk(t *testing.T, s spec, seed uint64) map[string]int {
	w := newWorld(s, seed, false)
	if w.walk(); w.bad != nil {
		if again := newWorld(s, seed, true); os.Getenv("INTRA_TRACE") != "" {
			again.walk()
			fmt.Println(again)
		}
		require.NoError(t, w.bad, "%s, seed %d (INTRA_TRACE=1 INTRA_WALK=NAME:SEED shows it)", s.name, seed)
	}
	return w.seen
}

// walk is like run, and also reports a panic of the head.
func (w *world) walk() {
	defer func() {
		if r := recover(); r != nil {
			w.failf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	w.run()
}

// TestWalk runs one schedule, INTRA_WALK=NAME:SEED.
func TestWalk(t *testing.T) {
	name, seed, ok := strings.Cut(os.Getenv("INTRA_WALK"), ":")
	if !ok {
		t.Skip("INTRA_WALK=NAME:SEED names no walk")
	}
	n, err := strconv.ParseUint(seed, 10, 64)
	require.NoError(t, err)
	for _, s := range specs {
		if s.name == name {
			walk(t, s, n)
		}
	}
}
