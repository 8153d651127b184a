//go:build system

package notices

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// few is the default number of jobs.
const few = 3

// TestNotices runs INTRA_NOTICES random jobs, or the job of INTRA_SEED. With both it runs
// INTRA_NOTICES jobs, beginning with that seed.
func TestNotices(t *testing.T) {
	count, first := few, uint64(1)
	if s := os.Getenv("INTRA_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "INTRA_SEED")
		count, first = 1, n
	}
	if s := os.Getenv("INTRA_NOTICES"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err, "INTRA_NOTICES")
		count = n
	}
	all := tally{ends: make(map[string]int)}
	for i := range count {
		s := newSchedule(first + uint64(i))
		t.Run(fmt.Sprint(s.seed), func(t *testing.T) {
			t.Parallel()
			want := undisturbed(t, s)
			r := start(t, s)
			r.follow(want.took)
			e, err := r.end()
			if err != nil {
				require.FailNow(t, "FINDING", "%v\n%v", s, err)
			}
			wrong := r.facts.judge(&e, want.bits)
			if wrong == "" && e.report != nil && e.report.ExitCode == interrupted {
				wrong = r.goOn(&e, want.bits)
			}
			if all.add(&e); wrong != "" {
				require.FailNow(t, "FINDING", "%s\n%v\nthe machine paused for up to %v\nreplay with INTRA_SEED=%d make notices\n%s\n--- successors:\n%s", wrong, s, r.facts.pauses, s.seed, e.first, e.next)
			}
			if n := all.count(); n%20 == 0 || n == count {
				fmt.Printf("notices: %d of %d jobs: %v\n", n, count, &all)
			}
		})
	}
}

// tally counts how the jobs end.
type tally struct {
	mu   sync.Mutex
	jobs int
	ends map[string]int
}

func (a *tally) add(e *end) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs++
	if e.report == nil {
		a.ends["without a head"]++
		return
	}
	a.ends[fmt.Sprintf("exit %d", e.report.ExitCode)]++
	a.ends["deaths"] += len(e.report.Failures)
	a.ends["rollbacks"] += len(e.report.Rollbacks)
	a.ends["drains"] += len(e.report.Drains)
	a.ends["processes that have moved"] += strings.Count(e.said(), " has moved from ")
	a.ends["heads that have handed over"] += strings.Count(e.next, "which has handed over")
	a.ends["hosts that have joined"] += strings.Count(e.said(), "has joined the job, with room for")
}

func (a *tally) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.jobs
}

func (a *tally) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprint(a.ends)
}

// reference is a job without failures.
type reference struct {
	bits string
	took time.Duration
}

// references are the jobs without failures so far.
var references struct {
	sync.Mutex
	of map[string]reference
}

// undisturbed runs the program of a schedule on its hosts without failures, once for each kind
// of job.
func undisturbed(t *testing.T, s schedule) reference {
	t.Helper()
	references.Lock()
	defer references.Unlock()
	key := fmt.Sprint(s.program, len(s.degrees))
	if have, ok := references.of[key]; ok {
		return have
	}
	s.acts, s.files, s.ranged, s.degrees, s.slots = nil, false, false, []int{2, 2, 2}[:len(s.degrees)], 2
	r := start(t, s)
	r.follow(0)
	e, err := r.end()
	require.NoError(t, err)
	require.Zero(t, e.code, e.first)
	if references.of == nil {
		references.of = make(map[string]reference)
	}
	references.of[key] = reference{bits(e.stdout), r.facts.took}
	return references.of[key]
}

var continues = regexp.MustCompile(`interrupted \(.*\): -restart (\S+) continues from safe point (\d+)`)

// goOn runs another job that continues from the files of an interrupted one, and returns an
// objection, "" if there is none.
func (r *run) goOn(e *end, want string) string {
	m := continues.FindStringSubmatch(e.report.Error)
	if m == nil {
		return "it does not say how to continue: " + e.report.Error
	}
	again := jobtest.Run(r.t, jobtest.Spec{Intrarun: r.intrarun, Dir: r.dir, Program: program(r.t, r.schedule),
		Flags: []string{"-n", fmt.Sprint(len(r.schedule.degrees)), "-r", "1", "-restart", m[1]}})
	switch {
	case again.Code != 0:
		return fmt.Sprintf("the job that continues ended with %d: %s", again.Code, again.Stderr)
	case !strings.Contains(again.Stderr, "the job continues from safe point "+m[2]+","):
		return fmt.Sprintf("it does not continue from safe point %s: %s", m[2], again.Stderr)
	case bits(again.Stdout) != want:
		return fmt.Sprintf("WRONG BITS of the job that continues: got %.200q, want %.200q", bits(again.Stdout), want)
	}
	return ""
}
