package agentd

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
)

func TestProcessLogKeepsWhatAnotherHeadHasToKnow(t *testing.T) {
	s := new(processLog)
	say := func(m job.Message) { s.note(told{kind: agentwire.KindMessage, body: agentwire.Encode(m)}, &m, 0) }
	p, q := job.Process{Rank: 1}, job.Process{Rank: 2}
	s.note(told{kind: agentwire.KindStarted}, nil, 0)
	s.note(told{kind: agentwire.KindHello}, nil, 0)
	for i := range int64(1000) {
		say(job.Message{Kind: job.KindStats, Stats: &job.Stats{Sections: i}})
		say(job.Message{Kind: job.KindTrace})
		say(job.Message{Kind: job.KindSuspect, Process: &p, Text: "cut"})
		say(job.Message{Kind: job.KindSuspect, Process: &q, Text: "cut"})
		say(job.Message{Kind: job.KindMended, Process: &p})
	}
	say(job.Message{Kind: job.KindFinish, Stats: &job.Stats{Sections: 1000}})
	s.note(told{kind: agentwire.KindExited}, nil, 0)
	var kinds []agentwire.Kind
	var said []job.Kind
	for _, f := range s.history {
		if kinds = append(kinds, f.kind); f.kind == agentwire.KindMessage {
			m, err := job.DecodeMessage(f.body)
			require.NoError(t, err)
			said = append(said, m.Kind)
		}
	}
	require.Equal(t, []agentwire.Kind{agentwire.KindStarted, agentwire.KindHello, agentwire.KindMessage, agentwire.KindMessage, agentwire.KindMessage, agentwire.KindExited}, kinds)
	require.Equal(t, []job.Kind{job.KindStats, job.KindSuspect, job.KindFinish}, said)
}

func TestProcessLogTellsAProcessNothingTwice(t *testing.T) {
	s := new(processLog)
	verdict := func(epoch uint64) bool {
		return s.pass(&job.Message{Kind: job.KindVerdict, Verdict: &job.Verdict{Epoch: epoch}})
	}
	require.False(t, s.begun)
	require.True(t, s.pass(&job.Message{Kind: job.KindStart}))
	require.True(t, s.begun)
	require.False(t, s.pass(&job.Message{Kind: job.KindStart}))
	leave := func(generation uint32, number uint64) bool {
		return s.pass(&job.Message{Kind: job.KindOrder, Order: &job.Order{Kind: job.OrderGo, Generation: generation, Number: number}})
	}
	require.True(t, leave(0, 3))
	require.True(t, leave(0, 6))
	require.False(t, leave(0, 3))
	require.False(t, leave(0, 6))
	require.True(t, leave(1, 3), "the job has gone back")
	require.False(t, leave(0, 9))
	for range 2 {
		require.True(t, s.pass(&job.Message{Kind: job.KindOrder, Order: &job.Order{Kind: job.OrderCancel}}))
	}
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

// Of what a process says about cuts another head has to hear in which one it
// waits, and what became of its last files: that one could not be written may be
// said before the one before it is.
func TestProcessLogKeepsTheLastRepliesAboutCuts(t *testing.T) {
	s := new(processLog)
	say := func(r job.Reply) {
		m := job.Message{Kind: job.KindReply, Reply: &r}
		s.note(told{kind: agentwire.KindMessage, body: agentwire.Encode(m)}, &m, 0)
	}
	say(job.Reply{Kind: job.ReplyFirst})
	for n := uint64(1); n <= 100; n++ {
		say(job.Reply{Kind: job.ReplyDrained, Number: n})
		say(job.Reply{Kind: job.ReplySaved, Set: n})
		say(job.Reply{Kind: job.ReplyStored, Number: n})
	}
	say(job.Reply{Kind: job.ReplySaved, Set: 102, Text: "the one before is still being written"})
	say(job.Reply{Kind: job.ReplySaved, Set: 101})
	var said []string
	for _, f := range s.history {
		m, err := job.DecodeMessage(f.body)
		require.NoError(t, err)
		said = append(said, fmt.Sprint(m.Reply.Kind, " ", max(m.Reply.Number, m.Reply.Set)))
	}
	require.Equal(t, []string{"first 0", "drained 100", "saved 102", "saved 101"}, said)
}

// How long ago a verdict was handled is told by the agent's clock, whenever
// another head asks, and as often.
func TestProcessLogDatesWhatWasHandled(t *testing.T) {
	s := new(processLog)
	m := job.Message{Kind: job.KindHandled, Epoch: 7}
	s.note(told{kind: agentwire.KindMessage, body: agentwire.Encode(m)}, &m, 40*time.Second)
	s.note(told{kind: agentwire.KindExited, body: []byte("x")}, nil, 41*time.Second)
	for now, want := range map[time.Duration]time.Duration{40 * time.Second: 0, 42 * time.Second: 2 * time.Second, time.Minute: 20 * time.Second} {
		again, err := job.DecodeMessage(s.history[0].again(now))
		require.NoError(t, err)
		require.Equal(t, &job.Message{Kind: job.KindHandled, Epoch: 7, Ago: want}, again)
		require.Equal(t, []byte("x"), s.history[1].again(now))
	}
}
