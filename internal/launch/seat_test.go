package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestSeatKeepsWhatAnotherHeadHasToKnow(t *testing.T) {
	s := new(seat)
	say := func(m job.Message) { s.note(told{kind: frameMessage, body: encode(m)}, &m, 0) }
	p, q := job.Process{Rank: 1}, job.Process{Rank: 2}
	s.note(told{kind: frameStarted}, nil, 0)
	s.note(told{kind: frameHello}, nil, 0)
	for i := range int64(1000) {
		say(job.Message{Kind: job.KindStats, Stats: &job.Stats{Sections: i}})
		say(job.Message{Kind: job.KindTrace})
		say(job.Message{Kind: job.KindSuspect, Process: &p, Text: "cut"})
		say(job.Message{Kind: job.KindSuspect, Process: &q, Text: "cut"})
		say(job.Message{Kind: job.KindMended, Process: &p})
	}
	say(job.Message{Kind: job.KindFinish, Stats: &job.Stats{Sections: 1000}})
	s.note(told{kind: frameExited}, nil, 0)
	var kinds []frameKind
	var said []job.Kind
	for _, f := range s.history {
		if kinds = append(kinds, f.kind); f.kind == frameMessage {
			m, err := job.DecodeMessage(f.body)
			require.NoError(t, err)
			said = append(said, m.Kind)
		}
	}
	require.Equal(t, []frameKind{frameStarted, frameHello, frameMessage, frameMessage, frameMessage, frameExited}, kinds)
	require.Equal(t, []job.Kind{job.KindStats, job.KindSuspect, job.KindFinish}, said)
}

func TestSeatTellsAProcessNothingTwice(t *testing.T) {
	s := new(seat)
	verdict := func(epoch uint64) bool {
		return s.pass(&job.Message{Kind: job.KindVerdict, Verdict: &job.Verdict{Epoch: epoch}})
	}
	require.False(t, s.begun)
	require.True(t, s.pass(&job.Message{Kind: job.KindStart}))
	require.True(t, s.begun)
	require.True(t, verdict(1))
	require.True(t, verdict(2))
	require.False(t, verdict(1))
	require.False(t, verdict(2))
	require.True(t, verdict(3))
	require.True(t, s.pass(&job.Message{Kind: job.KindRelease}))
	require.False(t, s.pass(&job.Message{Kind: job.KindRelease}))
	require.True(t, s.pass(&job.Message{Kind: job.KindEnd}))
	require.True(t, s.pass(&job.Message{Kind: job.KindEnd}), "whoever obeys is gone")
}

// How long ago a verdict was handled is told by the agent's clock, whenever
// another head asks, and as often.
func TestSeatDatesWhatWasHandled(t *testing.T) {
	s := new(seat)
	m := job.Message{Kind: job.KindHandled, Epoch: 7}
	s.note(told{kind: frameMessage, body: encode(m)}, &m, 40*time.Second)
	s.note(told{kind: frameExited, body: []byte("x")}, nil, 41*time.Second)
	for now, want := range map[time.Duration]time.Duration{40 * time.Second: 0, 42 * time.Second: 2 * time.Second, time.Minute: 20 * time.Second} {
		again, err := job.DecodeMessage(s.history[0].again(now))
		require.NoError(t, err)
		require.Equal(t, &job.Message{Kind: job.KindHandled, Epoch: 7, Ago: want}, again)
		require.Equal(t, []byte("x"), s.history[1].again(now))
	}
}
