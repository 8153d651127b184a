package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestLedgerDecides(t *testing.T) {
	type step struct {
		process string
		cause   job.Cause // "" when it finishes
	}
	const drained = job.Cause("drained")
	for _, c := range []struct {
		name     string
		degrees  []int
		steps    []step
		decided  bool
		code     int
		complete bool
	}{
		{"nothing yet", []int{1}, nil, false, 0, false},
		{"one of two finishes", []int{2}, []step{{"0.1", ""}}, false, 0, false},
		{"all finish", []int{1, 1}, []step{{"0.0", ""}, {"1.0", ""}}, false, 0, true},
		{"the survivor finishes", []int{2}, []step{{"0.0", job.CauseSignal}, {"0.1", ""}}, false, 0, true},
		{"a finished rank is not lost", []int{2}, []step{{"0.1", ""}, {"0.1", drained}, {"0.0", job.CauseExit}}, false, 0, true},
		{"nor when the finished one dies last", []int{2, 1}, []step{{"0.1", ""}, {"0.1", drained}, {"0.0", job.CauseExit}, {"0.1", job.CauseSignal}}, false, 0, false},
		{"nor when the finished one dies first", []int{2, 1}, []step{{"0.1", ""}, {"0.1", drained}, {"0.1", job.CauseSignal}, {"0.0", job.CauseSignal}}, false, 0, false},
		{"but with what others lack", []int{2, 1}, []step{{"0.1", ""}, {"0.0", job.CauseSignal}, {"0.1", job.CauseSignal}}, true, ExitLost, false},
		{"nobody is through before the end", []int{1, 1}, []step{{"0.0", drained}, {"0.0", job.CauseSignal}}, true, ExitLost, false},
		{"last one killed", []int{2}, []step{{"0.0", job.CauseExit}, {"0.1", job.CauseInjected}}, true, ExitLost, true},
		{"last one panics", []int{2}, []step{{"0.0", job.CauseSignal}, {"0.1", job.CausePanic}}, true, ExitFailed, true},
		{"last one fenced", []int{1, 1}, []step{{"1.0", job.CauseFenced}}, true, ExitLost, false},
		{"the first decides", []int{1, 1}, []step{{"1.0", job.CauseExit}, {"0.0", job.CauseSignal}}, true, ExitFailed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger(c.degrees)
			deaths := uint64(0)
			for _, s := range c.steps {
				p, err := job.ParseProcess(s.process)
				require.NoError(t, err)
				switch s.cause {
				case "":
					l.finish(p)
					continue
				case drained:
					l.drain(p)
					continue
				}
				deaths++
				require.Equal(t, job.Verdict{Epoch: deaths, Process: p, Cause: s.cause, Detail: "why"}, l.die(p, 0, s.cause, "why", 1500*time.Millisecond))
			}
			require.Equal(t, c.decided, l.decided)
			require.Equal(t, c.code, l.code)
			require.Equal(t, c.complete, l.complete())
			if c.code == ExitLost { // which rank, since when, and what could have saved it
				require.Contains(t, l.text, "has lost its last replica")
				require.Contains(t, l.text, "at 1.500 s")
				require.Contains(t, l.text, "would have saved it")
			}
		})
	}
}

func TestTheEndOfABrokenLinkThatGoes(t *testing.T) {
	for _, c := range []struct {
		degrees []int
		p, q    string
		want    string // "" if both stay
	}{
		{[]int{1, 1}, "0.0", "1.0", ""},
		{[]int{2, 1}, "0.0", "1.0", "0.0"},
		{[]int{1, 2}, "1.1", "0.0", "1.1"},
		{[]int{2, 2}, "0.1", "1.0", "1.0"},
		{[]int{2}, "0.1", "0.0", "0.1"},
	} {
		p, err := job.ParseProcess(c.p)
		require.NoError(t, err)
		q, err := job.ParseProcess(c.q)
		require.NoError(t, err)
		for _, ends := range [][2]job.Process{{p, q}, {q, p}} {
			v, ok := newLedger(c.degrees).victim(ends[0], ends[1])
			require.Equal(t, c.want != "", ok)
			if ok {
				require.Equal(t, c.want, v.String())
			}
		}
	}
}
