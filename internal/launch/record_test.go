package launch

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/supervise"
)

// A head acts on its decisions in their order and not before they are kept; it
// does not get lost that one could not be proposed for the moment.
func TestDecisionsAreKeptBeforeTheyAreCarriedOut(t *testing.T) {
	h := newHead(&Config{Degrees: []int{1}, Stdout: io.Discard, Stderr: io.Discard}, job.NewSecret())
	var log, done []string
	var refusal error
	h.record = &record{propose: func(e arbiter.Entry) error {
		if refusal == nil {
			log = append(log, e.Key)
		}
		return refusal
	}}
	decide := func(key string) {
		h.decide(arbiter.Entry{Kind: arbiter.Note, Key: key}, func() { done = append(done, key) })
	}
	decide("a")
	refusal = fmt.Errorf("busy: %w", arbiter.ErrNotHead)
	decide("b")
	decide("c")
	require.Equal(t, []string{"a"}, log)
	require.Empty(t, done)
	h.kept()
	require.Equal(t, []string{"a"}, done)
	require.True(t, h.record.waits())
	refusal = nil
	for len(log) < 3 {
		(<-h.posts)()
	}
	require.Equal(t, []string{"a", "b", "c"}, log)
	h.kept()
	h.kept()
	h.kept() // of another head
	require.Equal(t, []string{"a", "b", "c"}, done)
	require.False(t, h.record.waits())

	decide("d")
	refusal = errors.New("full")
	decide("e")
	require.True(t, h.retired)
	require.False(t, h.record.waits(), "another head may have decided otherwise")
	decide("f")
	require.Equal(t, []string{"a", "b", "c"}, done)
	require.Equal(t, ExitLost, h.code())
	require.Contains(t, h.ledger.text, "this head gives up: its decisions cannot be replicated: full")
}

// Without others to keep them decisions are carried out at once.
func TestDecisionsOfAHeadAlone(t *testing.T) {
	h := newHead(&Config{Degrees: []int{1}, Stdout: io.Discard, Stderr: io.Discard}, job.NewSecret())
	done := false
	h.decide(arbiter.Entry{Kind: arbiter.Died, Text: strings.Repeat("x", 2*arbiter.MaxEntry)}, func() { done = true })
	require.True(t, done)
}

// The loss of a host, decided by others, comes before a death there that was
// seen earlier and is not decided: its verdict is part of that on the host, in
// the same place of the list as everywhere.
func TestLossOfAHostOvertakesADeath(t *testing.T) {
	h := newHead(&Config{Degrees: []int{2, 2}, Stdout: io.Discard, Stderr: io.Discard}, job.NewSecret())
	h.record = &record{propose: func(arbiter.Entry) error { return nil }}
	lost, other := absent(&job.Host{Name: "x"}), absent(&job.Host{Name: "y"})
	h.enlist(func(p job.Process) (agent, *job.Host) {
		if p.Replica == 0 {
			return lost, lost.host
		}
		return other, other.host
	})
	h.phase = working
	die := func(rank, replica int) {
		m := h.members[job.Process{Rank: rank, Replica: replica}]
		m.exit = new(supervise.Exit)
		h.gone(m)
	}
	die(0, 1) // on y
	die(1, 0) // on x
	go h.hostLost(lost, "silence", &evidence{hosts: &hosts{}})
	var verdicts []string
	for len(verdicts) < 2 {
		(<-h.posts)()
		verdicts = nil
		for _, v := range h.ledger.verdicts {
			verdicts = append(verdicts, v.Process.String())
		}
	}
	require.Equal(t, []string{"0.0", "1.0"}, verdicts)
	h.kept()
	require.Equal(t, job.Process{Rank: 0, Replica: 1}, h.ledger.verdicts[2].Process)
	h.kept()
	require.Len(t, h.ledger.verdicts, 3)
}

// A head that gives up reports no end that rests on a death which it could not
// have kept: whether that was decided is known to whoever takes its place.
func TestReportOfAHeadThatGivesUp(t *testing.T) {
	h := newHead(&Config{Degrees: []int{3}, Stdout: io.Discard, Stderr: io.Discard}, job.NewSecret())
	h.record = &record{propose: func(arbiter.Entry) error { return nil }}
	l := &listener{told: make(map[job.Process][]job.Kind)}
	h.enlist(func(job.Process) (agent, *job.Host) { return l, nil })
	h.phase = working
	for _, m := range h.order {
		m.pid = 100
	}
	for _, m := range h.order[:2] {
		m.exit = new(supervise.Exit)
		m.ending = &ending{job.CauseSignal, "killed"}
		h.gone(m)
	}
	h.kept() // of the first one
	h.retire("another one has taken its place")
	r := h.report(h.code())
	require.Len(t, r.Failures, 1)
	ends := make(map[job.Process]string)
	for _, p := range r.Processes {
		ends[p.Process] = p.End
	}
	p := func(replica int) job.Process { return job.Process{Replica: replica} }
	require.Equal(t, p(0), r.Failures[0].Process)
	require.Equal(t, map[job.Process]string{p(0): "killed", p(1): "left", p(2): "left"}, ends)
}
