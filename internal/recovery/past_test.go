package recovery

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// What is kept may be about a generation that is over by then, or behind a death of
// which the head had not heard: the first word about a process counts.
func TestPastOfGenerationsThatAreOver(t *testing.T) {
	p, q := proc0(0, 0), proc0(1, 0)
	var past Past
	past.Born(q, 1)
	require.Equal(t, Lives, past.place(q).Status, "it is there from the beginning")
	past.Died(q, 2, false)
	require.Equal(t, Lives, past.place(q).Status, "another one in its place")
	past.Died(q, 1, true)
	require.Equal(t, Place{Incarnation: 1, Status: Gone, Itself: true}, past.place(q))
	past.Born(q, 3)
	past.Born(q, 2)
	past.Died(q, 1, false)
	require.Equal(t, Place{Incarnation: 3, Status: Joining, Attempts: 1}, past.place(q))

	admitted := Decision{Kind: Admitted, Number: 4, Joined: []Joined{{Process: q, Incarnation: 3, Output: json.RawMessage(`"here"`)}}}
	dead := past
	dead.Places = map[job.Process]Place{q: past.place(q)}
	dead.Died(q, 3, true)
	dead.Apply(admitted)
	require.Equal(t, Place{Incarnation: 3, Status: Gone, Attempts: 1}, dead.place(q), "it has not come to live")
	require.Equal(t, []job.Order{{Kind: job.OrderAdmit, Number: 4, Joined: []job.Peer{{Process: q, Incarnation: 3}}}}, dead.Orders, "others may have made it live")
	past.Apply(admitted)
	require.Equal(t, Place{Incarnation: 3, Status: Lives, Output: json.RawMessage(`"here"`)}, past.place(q))

	past.Finished(p, 1, 1)
	require.False(t, past.Rest, "of a generation that is not yet")
	past.Finished(p, 1, 0)
	past.Drained(p, 1, 0)
	require.True(t, past.Rest)
	require.True(t, past.Through[0])
	past.Apply(Decision{Kind: Complete, Number: 4})
	past.Apply(Decision{Kind: RolledBack, Generation: 1, Number: 4, Incarnation: 9})
	require.Equal(t, Lives, past.place(p).Status)
	require.False(t, past.Rest)
	require.Empty(t, past.Through)
	require.Empty(t, past.Orders)
	past.Apply(Decision{Kind: Left, Number: 8})
	require.EqualValues(t, 4, past.Cut, "it was left in a generation that is over")
	past.Finished(p, 1, 1)
	require.False(t, past.Rest, "it has not been told yet that all are back")
	past.Apply(Decision{Kind: Resumed, Generation: 1, Number: 4, Backup: 6})
	require.Equal(t, []job.Order{{Kind: job.OrderResume, Generation: 1, Next: 6}}, past.Orders)
	require.EqualValues(t, 9, past.Incarnations)
}

// A set whose writer dies, or had died before it was kept that he writes, cannot
// be told to be whole by a head that takes over.
func TestPastOfFiles(t *testing.T) {
	left := Decision{Kind: Left, Number: 4, Set: 2, NextSet: 3, Savers: []int{1, 0}}
	for name, deaths := range map[string]func(p *Past){
		"before": func(p *Past) { p.Died(proc0(0, 1), 1, false); p.Apply(left) },
		"after":  func(p *Past) { p.Apply(left); p.Died(proc0(0, 1), 1, false) },
	} {
		t.Run(name, func(t *testing.T) {
			var p Past
			p.Died(proc0(0, 0), 1, false) // writes nothing
			deaths(&p)
			require.Equal(t, &job.Process{Rank: 0, Replica: 1}, p.Torn)
			c := Config{Degrees: []int{3, 1}, Files: Files{Every: 4, First: 1}}
			_, acts := Resume(c, p, 0)
			require.Equal(t, Action{Kind: Abandon, Set: 2, Why: "0.1 has died, and whether its file was written is lost with the head"}, acts[0])
			p.End(2)
			_, acts = Resume(c, p, 0)
			require.NotEqual(t, Abandon, acts[0].Kind)
		})
	}
}

// A copy of a backup that was given up when the job went back is none of the
// backup that was taken at the same safe point after that.
func TestCopyOfABackupThatWasGivenUp(t *testing.T) {
	var past Past
	past.Apply(Decision{Kind: RolledBack, Generation: 1, Number: 4})
	past.Apply(Decision{Kind: Resumed, Generation: 1, Number: 4})
	past.Apply(Decision{Kind: Complete, Generation: 1, Number: 8})
	h, _ := Resume(Config{Degrees: []int{1, 1}, Start: true, Backup: Policy{Every: 4}}, past, 0)
	say := func(p job.Process, r job.Reply) { h.Reply(p, 1, r, 0) }
	say(proc0(0, 0), job.Reply{Kind: job.ReplyStored, Generation: 0, Number: 8, Rank: 1})
	say(proc0(0, 0), job.Reply{Kind: job.ReplyReady, Generation: 1})
	require.Empty(t, h.complete.stored(0), "it was back before that was taken")
	require.Empty(t, h.complete.stored(1))
	say(proc0(0, 0), job.Reply{Kind: job.ReplyStored, Generation: 1, Number: 8, Rank: 1})
	require.Len(t, h.complete.stored(1), 1)
	for _, p := range []job.Process{proc0(0, 0), proc0(1, 0)} {
		require.True(t, h.returns(), "not all have said what they hold")
		h.Repeated(p, 1, 0)
	}
	require.False(t, h.returns())
	require.Equal(t, 0, h.nowhere())
}
