package simulation

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// check runs the job of a seed. It compares the final states of the ranks, and the way in
// which the job ends, with the expected ones.
func check(s *spec) (*world, error) {
	plain := newWorld(s.plain())
	if err := plain.run(); err != nil {
		return nil, fmt.Errorf("without failures: %w", err)
	}
	w := newWorld(s)
	if err := w.run(); err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	if err := w.sameAs(plain); err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	from := w.disk.latest(len(s.degrees))
	if from == nil {
		return w, nil
	}
	from.outputs = w.outputs.disks
	s = s.again(from)
	again := newWorld(s)
	if err := again.run(); err != nil {
		return nil, fmt.Errorf("from the files of cut %d: %v: %w", from.cut, s, err)
	}
	if err := again.sameAs(plain); err != nil {
		return nil, fmt.Errorf("from the files of cut %d: %v: %w", from.cut, s, err)
	}
	w.seen["a job continues from files"]++
	return w, nil
}

// sameAs compares the final states of the ranks.
func (w *world) sameAs(plain *world) error {
	if w.head.code != 0 {
		return nil
	}
	for _, p := range w.processes {
		if !p.left || p.program == nil {
			continue
		}
		want := plain.processes[p.self.Rank].program
		if p.program.meta != want.meta {
			return fmt.Errorf("%v has other observations than the rank without replicas", p)
		}
	}
	return w.outputs.differ(&plain.outputs)
}

// search runs usual jobs of a kind, and fewer in a short test. It returns their number, and how
// often each event has happened. INTRA_SOAK=N runs N jobs, INTRA_SEED=S only the job with seed S.
func search(t *testing.T, usual uint64, plan func(seed uint64) *spec) (n uint64, seen map[string]int) {
	if testing.Short() {
		usual = min(usual, 300)
	}
	var mu sync.Mutex
	seen = make(map[string]int)
	n = simseed.Search(t, usual, func(seed uint64) error {
		w, err := check(plan(seed))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for k, v := range w.seen {
			seen[k] += v
		}
		return nil
	})
	return n, seen
}

// TestSimulation runs 2,000 jobs.
func TestSimulation(t *testing.T) {
	n, seen := search(t, 2000, newSpec)
	if n < 2000 {
		return
	}
	t.Log(seen)
	for _, what := range []string{
		"joined", "a spare is used", "a rollback overtakes another", "order renew", "order resume", "order transfer", "dismissed",
		"files published", "files abandoned", "a job continues from files",
		"a head is lost", "a head is lost after a replacement", "a head is lost in a rollback", "a decision is lost", "a host is lost", "a link is broken", "a link is mended", "an end of a link is killed", "a link between last replicas is broken", "a process cannot be started", "update lost",
		"death at abort", "death at ready", "death at drain", "death at backup send", "death at frame", "death at message",
		"lost: no backup was complete yet", "lost: no process is replaced",
		"a wrong message is found", "a wrong message of a dead process is found",
		"death at output", "an output file is cut off", "an output file is copied", "written bytes are lost",
	} {
		require.Greater(t, seen[what], int(n)/2000, "too few of %q to mean anything", what)
	}
}

// TestSimulationOfMoves runs 600 jobs that hosts and processes leave and join.
func TestSimulationOfMoves(t *testing.T) {
	n, seen := search(t, 600, moving)
	if n < 600 {
		return
	}
	t.Log(seen)
	for _, what := range []string{
		"a notice", "a host is to leave", "a process is to leave", "a head is to leave",
		"a process is relieved", "a relief replaces a dead process", "a process that leaves is killed", "a host has left", "a head hands over",
		"a job is interrupted", "exit code 7", "a host joins", "a process is let go", "a number of replicas is set",
		"a spare is started on a host that has joined", "a late spare is used",
	} {
		require.Positive(t, seen[what], "none of %q", what)
	}
}
