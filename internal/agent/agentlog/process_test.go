package agentlog

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// process is the log of a process whose events are single words.
type process = Process[string, int]

// repeated names the events that a successor receives.
func repeated(p *process) (all []string) {
	for _, s := range p.Repeat(0) {
		if s.Message != nil {
			s.Seen = string(s.Message.Kind)
		}
		all = append(all, s.Seen)
	}
	return all
}

func TestSuccessorGetsTheMessagesItNeeds(t *testing.T) {
	s := new(process)
	say := func(m job.Message) { s.Say(&m, 0) }
	p, q := job.Process{Rank: 1}, job.Process{Rank: 2}
	s.Note("started")
	s.Note("joined")
	for i := range int64(1000) {
		say(job.Message{Kind: job.KindStats, Stats: &job.Stats{Sections: i}})
		say(job.Message{Kind: job.KindTrace})
		say(job.Message{Kind: job.KindSuspect, Process: &p, Text: "cut"})
		say(job.Message{Kind: job.KindSuspect, Process: &q, Text: "cut"})
		say(job.Message{Kind: job.KindMended, Process: &p})
	}
	say(job.Message{Kind: job.KindFinish, Stats: &job.Stats{Sections: 1000}})
	s.Note("exited")
	require.Equal(t, []string{"started", "joined", "stats", "suspect", "finish", "exited"}, repeated(s))
	require.EqualValues(t, 999, s.Repeat(0)[2].Message.Stats.Sections)
	require.Equal(t, &q, s.Repeat(0)[3].Message.Process)
}

func TestProcessReceivesNothingTwice(t *testing.T) {
	s := new(process)
	verdict := func(epoch uint64) bool {
		return s.Pass(&job.Message{Kind: job.KindVerdict, Verdict: &job.Verdict{Epoch: epoch}})
	}
	require.False(t, s.Begun)
	require.True(t, s.Pass(&job.Message{Kind: job.KindStart}))
	require.True(t, s.Begun)
	require.False(t, s.Pass(&job.Message{Kind: job.KindStart}))
	leave := func(generation uint32, number uint64) bool {
		return s.Pass(&job.Message{Kind: job.KindOrder, Order: &job.Order{Kind: job.OrderGo, Generation: generation, Number: number}})
	}
	require.True(t, leave(0, 3))
	require.True(t, leave(0, 6))
	require.False(t, leave(0, 3))
	require.False(t, leave(0, 6))
	require.True(t, leave(1, 3), "the job has rolled back")
	require.False(t, leave(0, 9))
	order := func(o job.Order) bool { return s.Pass(&job.Message{Kind: job.KindOrder, Order: &o}) }
	for range 2 {
		require.True(t, order(job.Order{Kind: job.OrderCancel}), "does no harm")
	}
	require.True(t, order(job.Order{Kind: job.OrderComplete, Number: 6}))
	require.True(t, order(job.Order{Kind: job.OrderRollback, Number: 3}))
	for _, o := range []job.Order{{Kind: job.OrderResume, Generation: 1}, {Kind: job.OrderResume, Generation: 2}, {Kind: job.OrderComplete, Number: 4}} {
		require.True(t, order(o))
		require.False(t, order(o), o)
	}
	meet := func(incarnation uint32) bool {
		return s.Pass(&job.Message{Kind: job.KindConnect, Peers: []job.Peer{{Process: job.Process{Rank: 1}, Incarnation: incarnation}}})
	}
	require.True(t, meet(2))
	require.False(t, meet(2))
	require.True(t, meet(5))
	require.False(t, meet(2))
	require.True(t, s.Pass(&job.Message{Kind: job.KindSetup, Epoch: 3}))
	require.False(t, s.Pass(&job.Message{Kind: job.KindSetup, Epoch: 5}))
	require.False(t, verdict(3), "the process died before")
	require.True(t, verdict(4))
	require.True(t, verdict(5))
	require.False(t, verdict(4))
	require.False(t, verdict(5))
	require.True(t, verdict(6))
	require.True(t, s.Pass(&job.Message{Kind: job.KindRelease}))
	require.False(t, s.Pass(&job.Message{Kind: job.KindRelease}))
	require.True(t, s.Pass(&job.Message{Kind: job.KindEnd}))
	require.True(t, s.Pass(&job.Message{Kind: job.KindEnd}), "a process that obeys has ended")
}

// repliesOf returns the replies of a process, about recovery or about the end of its program,
// that the agent would repeat.
func repliesOf(s *process) (said []string) {
	for _, f := range s.Repeat(0) {
		m := f.Message
		if m.Kind != job.KindReply {
			said = append(said, string(m.Kind))
			continue
		}
		said = append(said, fmt.Sprintf("%s %d of rank %d", m.Reply.Kind, max(m.Reply.Number, m.Reply.Set, uint64(m.Reply.Incarnation), uint64(m.Reply.Generation)), m.Reply.Rank))
	}
	return said
}

// A successor needs these replies of a process about recovery: the cut in which it waits, its
// links, the result of its last files, and its copies. The copies are those of the last
// complete backup and of the two after it, since the process may know of a complete backup
// before its agent does.
func TestSuccessorGetsTheLastReplies(t *testing.T) {
	s := new(process)
	say := func(r job.Reply) { s.Say(&job.Message{Kind: job.KindReply, Reply: &r}, 0) }
	obey := func(o job.Order) { s.Pass(&job.Message{Kind: job.KindOrder, Order: &o}) }
	say(job.Reply{Kind: job.ReplyFirst})
	for n := uint64(1); n <= 100; n++ {
		say(job.Reply{Kind: job.ReplyLinked, Process: job.Process{Rank: int(n % 2)}, Incarnation: uint32(n)})
		say(job.Reply{Kind: job.ReplyCount, Number: n})
		say(job.Reply{Kind: job.ReplyCopied, Number: n})
		say(job.Reply{Kind: job.ReplyDrained, Number: n})
		say(job.Reply{Kind: job.ReplyAdmitted, Number: n})
		say(job.Reply{Kind: job.ReplySaved, Set: n})
		say(job.Reply{Kind: job.ReplyStored, Number: n, Rank: 3})
		if n > 4 { // the earlier process of the slot
			s.Pass(&job.Message{Kind: job.KindVerdict, Verdict: &job.Verdict{Epoch: n, Process: job.Process{Rank: int(n % 2)}, Incarnation: uint32(n - 4)}})
		}
		if n == 50 {
			obey(job.Order{Kind: job.OrderComplete, Number: n})
		}
	}
	say(job.Reply{Kind: job.ReplySaved, Set: 102, Text: "the one before is still being written"})
	say(job.Reply{Kind: job.ReplySaved, Set: 101})
	require.Equal(t, []string{
		"first 0 of rank 0", "stored 50 of rank 3", "linked 97 of rank 0", "linked 98 of rank 0", "linked 99 of rank 0", "stored 99 of rank 3", "linked 100 of rank 0",
		"drained 100 of rank 0", "admitted 100 of rank 0", "stored 100 of rank 3", "saved 102 of rank 0", "saved 101 of rank 0",
	}, repliesOf(s))
	obey(job.Order{Kind: job.OrderRollback, Generation: 1, Number: 50})
	require.NotContains(t, repliesOf(s), "stored 99 of rank 3", "void before the process sends another message")

	s = new(process)
	end := func() { s.Say(&job.Message{Kind: job.KindFinish, Stats: new(job.Stats)}, 0) }
	end()
	say(job.Reply{Kind: job.ReplyStored, Number: 50})
	for range 2 {
		say(job.Reply{Kind: job.ReplyStored, Number: 100})
	}
	obey(job.Order{Kind: job.OrderRollback, Generation: 1, Number: 50})
	say(job.Reply{Kind: job.ReplyStored, Number: 150}) // the agent does not know yet that the backup is complete
	end()
	require.Equal(t, []string{"finish", "stored 50 of rank 0", "finish"}, repliesOf(s))
	say(job.Reply{Kind: job.ReplyReady, Generation: 1})
	require.Equal(t, []string{"stored 50 of rank 0", "ready 1 of rank 0"}, repliesOf(s), "it finished before the rollback")
	say(job.Reply{Kind: job.ReplyStored, Generation: 1, Number: 60})
	end()
	require.Equal(t, []string{"stored 50 of rank 0", "ready 1 of rank 0", "stored 60 of rank 0", "finish"}, repliesOf(s))
}

// The agent reports to each head how long ago a verdict was handled, by its own clock.
func TestSuccessorLearnsWhenAVerdictWasHandled(t *testing.T) {
	s := new(process)
	m := job.Message{Kind: job.KindHandled, Epoch: 7}
	s.Say(&m, 40*time.Second)
	s.Note("exited")
	for now, want := range map[time.Duration]time.Duration{40 * time.Second: 0, 42 * time.Second: 2 * time.Second, time.Minute: 20 * time.Second} {
		again := s.Repeat(now)
		require.Equal(t, &job.Message{Kind: job.KindHandled, Epoch: 7, Ago: want}, again[0].Message)
		require.Equal(t, Sent[string]{Seen: "exited"}, again[1])
	}
	require.Zero(t, m.Ago, "the log does not change the message")
}
