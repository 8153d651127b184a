package localjob

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/engine"
)

func at(rank, replica int, incarnation uint32) head.From {
	return head.From{Node: here, ID: job.Process{Rank: rank, Replica: replica}, Incarnation: incarnation}
}

func endpoint(rank, replica int, incarnation uint32) job.Endpoint {
	return job.Endpoint{Process: job.Process{Rank: rank, Replica: replica}, Incarnation: incarnation}
}

// newJob returns a job whose processes do not run a program yet.
func newJob(t *testing.T, all ...head.From) *localJob {
	l := &localJob{ctx: t.Context(), want: new(job.Local), procs: make(map[head.From]*process), some: make(chan struct{}, 1)}
	for _, p := range all {
		l.do(head.Start{To: p, Process: p.ID})
	}
	return l
}

// The head gets its answers at once if no other node keeps the decisions and no files are
// written.
func TestAnswers(t *testing.T) {
	p := at(1, 0, 1)
	e := decision.Entry{Kind: decision.Started}
	for _, c := range []struct {
		action head.Action
		want   []head.Event
	}{
		{head.Propose{Entry: e}, []head.Event{head.Committed{Entry: e}}},
		{head.AskQuiet{To: p, Number: 7}, []head.Event{head.Quiet{From: p, Number: 7}}},
		{head.FinishOutput{To: p}, []head.Event{head.OutputSettled{From: p}}},
		{head.Mute{To: p}, nil},
		{head.Resume{To: p}, nil},
		{head.Log{Text: "heard by nobody"}, nil},
	} {
		require.Equal(t, c.want, newJob(t).do(c.action), "%T", c.action)
	}
	l := newJob(t)
	got := l.do(head.Start{To: p, Process: p.ID})
	require.Len(t, got, 2)
	require.Equal(t, p, got[0].(head.Started).From)
	require.Positive(t, got[0].(head.Started).PID, "0 is no process")
	require.Equal(t, head.Joined{From: p, Hello: &l.program.Hello}, got[1])
}

// A link joins the processes in two slots. Frames that are sent before the processes live
// wait. A process that has ended gets no link.
func TestLinkOfTwo(t *testing.T) {
	old, p, q := at(0, 0, 1), at(0, 0, 2), at(1, 0, 1)
	l := newJob(t, old, q)
	require.Empty(t, l.do(head.Link{Node: here, Lower: old.ID, Higher: q.ID}))
	require.Contains(t, l.procs[old].first, q.ID)
	require.Contains(t, l.procs[q].first, old.ID)

	l.do(head.Start{To: p, Process: p.ID, Role: head.Joiner})
	meet := &[2]job.Peer{{Process: p.ID, Incarnation: 2}, {Process: q.ID, Incarnation: 1}}
	require.Empty(t, l.do(head.Link{Node: here, Lower: p.ID, Higher: q.ID, Meet: meet}))
	require.Len(t, l.procs[old].links, 1)
	require.Len(t, l.procs[q].links, 2, "messages that the ended process had sent are read")
	require.Empty(t, l.procs[p].first)
	for self, other := range map[head.From]head.From{p: q, q: p} {
		e, err := l.procs[self].Next()
		require.NoError(t, err)
		require.Equal(t, other.ID, e.(job.Connected).Process)
		require.Equal(t, other.Incarnation, e.(job.Connected).Incarnation)
	}

	l.procs[q].end(errKilled)
	require.Empty(t, l.do(head.Link{Node: here, Lower: p.ID, Higher: q.ID, Meet: meet}))
	_, err := l.procs[q].Next()
	require.ErrorIs(t, err, io.EOF)
	l.running.Wait()
}

// If a link cannot be made, the job ends, and no program begins without it.
func TestFailedLinkEndsTheJob(t *testing.T) {
	p, q := at(0, 0, 1), at(1, 0, 1)
	l := newJob(t, p, q)
	l.spec.Link = "string"
	got := l.do(head.Link{Node: here, Lower: p.ID, Higher: q.ID})
	require.Equal(t, []head.Event{head.Failed{Err: `link 0.0 and 1.0: unknown kind of link "string": want inproc, shm, unix or tcp`}}, got)
	l.do(head.Send{To: p, Message: &job.Message{Kind: job.KindStart}})
	l.running.Wait() // no program runs
	require.ErrorContains(t, l.outcome(&head.Summary{Code: head.ExitRefused}), "intra.Run: link 0.0 and 1.0: ")
}

// The messages of a process reach the head in order. After its end, a process sends nothing.
// Its end is reported once.
func TestEndOfAProcess(t *testing.T) {
	p := at(0, 1, 1)
	for name, end := range map[string]func(*localJob){
		"killed":     func(l *localJob) { l.do(head.Kill{To: p}) },
		"told so":    func(l *localJob) { l.do(head.Send{To: p, Message: &job.Message{Kind: job.KindEnd, Text: "lost"}}) },
		"refused":    func(l *localJob) { l.do(head.Send{To: p, Message: &job.Message{Kind: job.KindRefuse, Text: "no"}}) },
		"it fails":   func(l *localJob) { l.procs[p].end(errors.New("no licence")) },
		"it returns": func(l *localJob) { l.procs[p].end(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newJob(t, p)
			x := l.procs[p]
			x.Reply(job.Reply{Kind: job.ReplyFirst})
			require.NoError(t, x.Finish(job.Stats{Sections: 3}))
			require.NoError(t, x.Drained())
			end(l)
			end(l)
			x.Reply(job.Reply{Kind: job.ReplyFirst})
			require.NoError(t, x.Fail(job.Failure{}, job.Stats{}))
			l.running.Wait()
			var kinds []job.Kind
			all := l.takeEvents()
			for _, e := range all[:len(all)-1] {
				require.Equal(t, p, e.(head.Said).From)
				kinds = append(kinds, e.(head.Said).Message.Kind)
			}
			require.Equal(t, []job.Kind{job.KindReply, job.KindFinish, job.KindDrained}, kinds)
			require.Equal(t, head.Exited{From: p}, all[len(all)-1])
			require.Error(t, x.ctx.Err())
			require.NoError(t, x.failure(), "the message is not reported")
			_, err := x.Next()
			require.ErrorIs(t, err, io.EOF)
		})
	}
}

// A process receives the messages of the head in order, including those from before it lives.
func TestMessagesOfTheHead(t *testing.T) {
	p := at(0, 1, 1)
	l := newJob(t, p)
	v, o := job.Verdict{Epoch: 1, Process: job.Process{}, Cause: job.CauseExit}, job.Order{Kind: job.OrderAsk, Round: 2}
	for _, m := range []*job.Message{
		{Kind: job.KindSetup, Setup: &job.Setup{Self: p.ID, Incarnation: 1, Degrees: []int{2}}},
		{Kind: job.KindVerdict, Verdict: &v}, {Kind: job.KindOrder, Order: &o}, {Kind: job.KindRelease},
	} {
		l.do(head.Send{To: p, Message: m})
	}
	require.Equal(t, p.ID, l.procs[p].Setup().Self)
	for _, want := range []job.Event{v, o, job.Release{}} {
		got, err := l.procs[p].Next()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// Run returns errors that callers can test with errors.Is.
func TestOutcome(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	for _, c := range []struct {
		name string
		sum  head.Summary
		is   error
		text string
	}{
		{"well", head.Summary{}, nil, ""},
		{"lost", head.Summary{Code: head.ExitLost, Text: "rank 0 is gone", By: endpoint(0, 1, 1)}, ErrLost, "a rank has lost all its replicas: rank 0 is gone"},
		{"failed", head.Summary{Code: head.ExitFailed, By: endpoint(0, 1, 1)}, io.ErrShortWrite, "0.1: short write"},
		{"failed as a replacement", head.Summary{Code: head.ExitFailed, By: endpoint(0, 1, 2)}, io.ErrNoProgress, "0.1: " + io.ErrNoProgress.Error()},
		{"a process reports divergence", head.Summary{Code: head.ExitDiverged, By: endpoint(0, 0, 1)}, engine.ErrDiverged, "replicas diverged: task 3"},
		{"the head finds divergence", head.Summary{Code: head.ExitDiverged, Text: "divergence of 0.0 and 0.1"}, engine.ErrDiverged, "replicas diverged: divergence of 0.0 and 0.1"},
		{"for an unknown reason", head.Summary{Code: head.ExitFailed, Text: "gone", By: endpoint(1, 0, 1)}, nil, "intra.Run: gone"},
		{"interrupted", head.Summary{Code: 143, Text: "ended by SIGTERM"}, stop, "stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newJob(t, at(0, 0, 1), at(0, 1, 1), at(0, 1, 2))
			if c.is == stop {
				l.ctx = ctx
			}
			l.program.Failure = func(err error) job.Failure { return job.Failure{Kind: job.FailError, Text: err.Error()} }
			l.procs[at(0, 1, 1)].failed(io.ErrShortWrite, job.Stats{})
			l.procs[at(0, 1, 2)].failed(io.ErrNoProgress, job.Stats{})
			require.NoError(t, l.procs[at(0, 0, 1)].Fail(job.Failure{Kind: job.FailDivergence, Text: "task 3"}, job.Stats{}))
			l.procs[at(0, 0, 1)].failed(io.ErrClosedPipe, job.Stats{})
			l.running.Wait()
			err := l.outcome(&c.sum)
			if c.text == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.text)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

// Tests receive the messages of the head, and the counts of the processes.
func TestResultsForTests(t *testing.T) {
	l := newJob(t, at(0, 0, 1), at(1, 0, 1), at(0, 0, 2), at(0, 0, 4))
	for i, p := range l.started {
		p.stats.TasksRun = int64(i)
	}
	l.do(head.Declared{Verdict: decision.Verdict{Verdict: job.Verdict{Epoch: 3, Cause: job.CausePanic}}})
	l.tellWhatHappened(&head.Summary{
		Kills:    []runreport.Kill{{Fired: true}, {}},
		Recovery: runreport.Recovery{Replacements: []runreport.Replacement{{Process: job.Process{Rank: 1}}, {}}, Rollbacks: make([]runreport.Rollback, 2)},
		Restart:  &runreport.Restart{Refused: []string{"set-000003 is not used"}},
		Files:    &runreport.Checkpoint{Sets: []runreport.FileSet{{Set: 4}, {Set: 6}}, Abandoned: []runreport.AbandonedSet{{Set: 5, Why: "no space"}}},
	})
	require.Equal(t, &job.Local{
		Fired:     []bool{true, false},
		Verdicts:  []job.Verdict{{Epoch: 3, Cause: job.CausePanic}},
		Stats:     map[job.Process]job.Stats{{}: {TasksRun: 3}, {Rank: 1}: {TasksRun: 1}},
		Former:    []job.Stats{{TasksRun: 0}, {TasksRun: 2}},
		Joined:    []job.Process{{Rank: 1}, {}},
		Rollbacks: 2, Sets: []uint64{4, 6},
		Warnings: []string{"set-000003 is not used", "checkpoint set 5 is abandoned: no space"},
	}, l.want)
}

// If a set cannot be completed, it is not published.
func TestPublish(t *testing.T) {
	set := &checkpoint.Set{Number: 1}
	require.NotEmpty(t, publish(head.Publish{Dir: "/proc/nowhere", Set: set}).Err)
}
