package recovery

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// A kept decision may concern a generation that is over by then, or may follow a death of
// which the head did not know. The first entry about a process counts.
func TestSnapshotOfGenerationsThatAreOver(t *testing.T) {
	p, q := proc0(0, 0), proc0(1, 0)
	var snapshot Snapshot
	snapshot.Placed(q, 1)
	require.Equal(t, Lives, snapshot.place(q).Status, "the first process lives from the beginning")
	snapshot.Died(q, 2, false, 0)
	require.Equal(t, Lives, snapshot.place(q).Status, "an earlier death of another incarnation")
	snapshot.Died(q, 1, true, 0)
	require.Equal(t, Place{Incarnation: 1, Status: Gone, Itself: true}, snapshot.place(q))
	snapshot.Placed(q, 3)
	snapshot.Placed(q, 2)
	snapshot.Died(q, 1, false, 0)
	require.Equal(t, Place{Incarnation: 3, Status: Joining, Attempts: 1}, snapshot.place(q))

	admitted := Decision{Kind: Admitted, Number: 4, Joined: []Joined{{Process: q, Incarnation: 3, Output: json.RawMessage(`"here"`)}}}
	dead := snapshot
	dead.Places = map[job.Process]Place{q: snapshot.place(q)}
	dead.Died(q, 3, true, 0)
	dead.Apply(admitted)
	require.Equal(t, Place{Incarnation: 3, Status: Gone, Attempts: 1}, dead.place(q), "a joiner that died first does not become live")
	require.Equal(t, []job.Order{{Kind: job.OrderAdmit, Number: 4, Joined: []job.Peer{{Process: q, Incarnation: 3}}}}, dead.Orders, "other processes may treat it as live")
	snapshot.Apply(admitted)
	require.Equal(t, Place{Incarnation: 3, Status: Lives, Output: json.RawMessage(`"here"`)}, snapshot.place(q))

	snapshot.Finished(p, 1, 1)
	require.False(t, snapshot.Rest, "of a later generation")
	snapshot.Finished(p, 1, 0)
	snapshot.Drained(p, 1, 0)
	require.True(t, snapshot.Rest)
	require.True(t, snapshot.Through[0])
	snapshot.Apply(Decision{Kind: Complete, Number: 4})
	snapshot.Apply(Decision{Kind: RolledBack, Generation: 1, Number: 4, Incarnation: 9})
	require.Equal(t, Lives, snapshot.place(p).Status)
	require.False(t, snapshot.Rest)
	require.Empty(t, snapshot.Through)
	require.Empty(t, snapshot.Orders)
	snapshot.Apply(Decision{Kind: Left, Number: 8})
	require.EqualValues(t, 4, snapshot.Cut, "the decision is of an earlier generation")
	snapshot.Finished(p, 1, 1)
	require.False(t, snapshot.Rest, "the rollback is not over yet")
	snapshot.Apply(Decision{Kind: Resumed, Generation: 1, Number: 4, Backup: 6})
	require.Equal(t, []job.Order{{Kind: job.OrderResume, Generation: 1, Next: 6}}, snapshot.Orders)
	require.EqualValues(t, 9, snapshot.Incarnations)
}

// If the writer of a set dies, or had died before the set was planned, a successor cannot
// know whether the set is whole.
func TestSnapshotOfFiles(t *testing.T) {
	left := Decision{Kind: Left, Number: 4, Set: 2, NextSet: 3, Savers: []int{1, 0}}
	for name, deaths := range map[string]func(p *Snapshot){
		"before": func(p *Snapshot) { p.Died(proc0(0, 1), 1, false, 0); p.Apply(left) },
		"after":  func(p *Snapshot) { p.Apply(left); p.Died(proc0(0, 1), 1, false, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			var p Snapshot
			p.Died(proc0(0, 0), 1, false, 0) // it is not a writer of the set
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

// A rollback abandons a backup, and another one is taken at the same safe point later.
// Copies of the first do not count for the second.
func TestCopyOfABackupThatWasGivenUp(t *testing.T) {
	var snapshot Snapshot
	snapshot.Apply(Decision{Kind: RolledBack, Generation: 1, Number: 4})
	snapshot.Apply(Decision{Kind: Resumed, Generation: 1, Number: 4})
	snapshot.Apply(Decision{Kind: Complete, Generation: 1, Number: 8})
	h, _ := Resume(Config{Degrees: []int{1, 1}, Start: true, Backup: Policy{Every: 4}}, snapshot, 0)
	say := func(p job.Process, r job.Reply) { h.Reply(p, 1, r, 0) }
	say(proc0(0, 0), job.Reply{Kind: job.ReplyStored, Generation: 0, Number: 8, Rank: 1})
	say(proc0(0, 0), job.Reply{Kind: job.ReplyReady, Generation: 1})
	require.Empty(t, h.backups.complete.stored(0), "it rolled back before that backup was taken")
	require.Empty(t, h.backups.complete.stored(1))
	say(proc0(0, 0), job.Reply{Kind: job.ReplyStored, Generation: 1, Number: 8, Rank: 1})
	require.Len(t, h.backups.complete.stored(1), 1)
	for _, p := range []job.Process{proc0(0, 0), proc0(1, 0)} {
		require.True(t, h.backups.returns(), "not all processes have reported their copies")
		h.Repeated(p, 1, 0)
	}
	require.False(t, h.backups.returns())
	require.Equal(t, 0, h.backups.nowhere())
}
