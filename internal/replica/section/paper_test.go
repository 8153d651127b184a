package section

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
)

// replica is one machine in section 0 of a rank, with the actions that it has
// requested.
type replica struct {
	*Machine
	t    *testing.T
	sent map[int][]int // by task: the peers
	took map[int]bool  // tasks applied
}

const signature = 77

func enter(t *testing.T, me, replicas int, policy sched.Policy, tasks int) *replica {
	r := &replica{Machine: New(Config{Replica: me, Replicas: replicas, InboxBytes: 1 << 20}), t: t,
		sent: make(map[int][]int), took: make(map[int]bool)}
	acts, err := r.Enter(Entry{Policy: policy, Tasks: tasks, Signature: signature,
		Patience: func(int) time.Duration { return time.Second }}, 0)
	require.NoError(t, err)
	r.note(acts)
	return r
}

func (r *replica) note(acts []Action) {
	for _, a := range acts {
		switch a.Kind {
		case Send:
			r.sent[a.Task] = append(r.sent[a.Task], a.Peer)
		case Apply:
			r.took[a.Task] = true
		}
	}
}

// runAll runs the tasks that the machine lets this replica start, and returns them.
func (r *replica) runAll(now time.Duration) (ran []int, last Step) {
	for {
		step, acts := r.Next(now)
		r.note(acts)
		if step.Kind != Run {
			return ran, step
		}
		ran = append(ran, step.Task)
		r.note(r.Ran(step.Task))
	}
}

func about(peer, task, tasks int) Update {
	return Update{Peer: peer, Task: task, Tasks: tasks, Signature: signature, Size: 8}
}

func (r *replica) arrive(peer, task, tasks int) {
	acts, err := r.Arrive(about(peer, task, tasks), "bytes", false)
	require.NoError(r.t, err)
	r.note(acts)
}

// This is failure case 1 of [INTRA, III-B2]: the peer died before it had sent any byte of
// the update. Each survivor that lacks the results of its tasks runs them.
func TestDiedBeforeUpdate(t *testing.T) {
	for _, replicas := range []int{2, 3, 4} {
		r := enter(t, 0, replicas, sched.Static, 8)
		ran, last := r.runAll(0)
		lo, hi := sched.Block(8, replicas, 0)
		require.Len(t, ran, hi-lo)
		require.Equal(t, 0, lo)
		require.Equal(t, Wait, last.Kind, "the other replicas are live, so their tasks are awaited")
		for p := 1; p < replicas; p++ {
			require.True(t, r.Live(p))
			r.Dead(p)
		}
		ran, last = r.runAll(0)
		require.Len(t, ran, 8-(hi-lo), "every task of the dead replica runs here")
		require.Equal(t, Done, last.Kind)
		for _, task := range ran {
			require.Empty(t, r.sent[task], "no replica needs the results")
		}
	}
}

// This is failure case 2: the peer died after it had sent the whole update to some
// replicas. A survivor with the update does not run the task again. A survivor without it
// does.
func TestDiedAfterUpdateToSome(t *testing.T) {
	for _, replicas := range []int{2, 3, 4} {
		has, lacks := enter(t, 0, replicas, sched.Static, replicas), enter(t, 0, replicas, sched.Static, replicas)
		last := replicas - 1
		for _, r := range []*replica{has, lacks} {
			r.runAll(0)
			for p := 1; p < last; p++ {
				r.arrive(p, p, replicas)
			}
		}
		has.arrive(last, last, replicas)
		has.Dead(last)
		lacks.Dead(last)
		ran, step := has.runAll(0)
		require.Empty(t, ran)
		require.Equal(t, Done, step.Kind)
		ran, step = lacks.runAll(0)
		require.Equal(t, []int{last}, ran)
		require.Equal(t, Done, step.Kind)
		require.Len(t, lacks.sent[last], replicas-2, "it cannot know which replicas lack the result")
	}
}

// This is failure case 3: the peer died in the middle of the update. If the update was
// received in place, the memory of the task is reserved until the receiver has restored
// the snapshot. Only then the task runs here.
func TestDiedWithinUpdate(t *testing.T) {
	for _, replicas := range []int{2, 3, 4} {
		r := enter(t, 0, replicas, sched.Static, replicas)
		place, err := r.Announce(about(1, 1, replicas), true)
		require.NoError(t, err)
		require.Equal(t, Into, place)
		r.Dead(1)
		ran, step := r.runAll(0)
		require.NotContains(t, ran, 1, "half of an update lies in its memory")
		require.Equal(t, Wait, step.Kind)
		r.Torn(about(1, 1, replicas))
		ran, _ = r.runAll(0)
		require.Equal(t, []int{1}, ran)
	}
}

func TestOneReservationPerTask(t *testing.T) {
	r := enter(t, 0, 3, sched.Adaptive, 3)
	place, err := r.Announce(about(1, 2, 3), true)
	require.NoError(t, err)
	require.Equal(t, Into, place)
	place, err = r.Announce(about(2, 2, 3), true)
	require.NoError(t, err)
	require.Equal(t, Discard, place, "a second copy into the same memory")
}

func TestCopyThatCompletesWhileTheTaskRunsIsDropped(t *testing.T) {
	r := enter(t, 0, 2, sched.Adaptive, 1)
	step, _ := r.Next(0)
	require.Equal(t, Step{Kind: Run, Task: 0}, step)
	r.arrive(1, 0, 1)
	require.Empty(t, r.took, "the body has begun to write there")
	r.note(r.Ran(0))
	require.Empty(t, r.sent[0], "the peer has it")
}

func TestNoReplicaWaitsForAnUnclaimedTask(t *testing.T) {
	r := enter(t, 0, 2, sched.Adaptive, 4)
	ran, last := r.runAll(0)
	require.Equal(t, []int{0, 1, 3, 2}, ran, "own block from the front, then the peer's from its end")
	require.Equal(t, Done, last.Kind)
}

func TestAClaimEnds(t *testing.T) {
	const claimedAt = time.Millisecond
	free := func(t *testing.T, end func(r *replica)) {
		r := enter(t, 0, 2, sched.Adaptive, 2)
		require.NoError(t, r.Claimed(about(1, 1, 2), claimedAt))
		ran, last := r.runAll(claimedAt)
		require.Equal(t, []int{0}, ran)
		require.Equal(t, Step{Kind: Wait, Until: claimedAt + time.Second}, last)
		end(r)
		ran, _ = r.runAll(claimedAt)
		require.Equal(t, []int{1}, ran)
	}
	t.Run("death", func(t *testing.T) { free(t, func(r *replica) { r.Dead(1) }) })
	t.Run("discarded update", func(t *testing.T) { free(t, func(r *replica) { r.Refused(about(1, 1, 2)) }) })
	t.Run("lost update", func(t *testing.T) { free(t, func(r *replica) { require.NoError(t, r.Lost(about(1, 1, 2))) }) })
	t.Run("peer past the section", func(t *testing.T) {
		free(t, func(r *replica) {
			require.NoError(t, r.Claimed(Update{Peer: 1, Section: 1, Tasks: 1}, claimedAt))
		})
	})
	t.Run("time", func(t *testing.T) {
		r := enter(t, 0, 2, sched.Adaptive, 2)
		require.NoError(t, r.Claimed(about(1, 1, 2), claimedAt))
		r.runAll(claimedAt)
		ran, last := r.runAll(claimedAt + time.Second)
		require.Equal(t, []int{1}, ran)
		require.Equal(t, Done, last.Kind)
	})
}

// An update that was skipped for lack of room in the inbox will not arrive again, so a
// replica that waited for it would hang.
func TestSkippedUpdateIsRunHere(t *testing.T) {
	r := enter(t, 1, 2, sched.Static, 0)
	r.inbox.limit = 0
	for _, task := range []int{0, 1} {
		u := Update{Peer: 0, Section: 1, Task: task, Tasks: 4, Signature: signature, Size: 100}
		place, err := r.Announce(u, false)
		require.NoError(t, err)
		if place == Discard {
			r.Refused(u)
			continue
		}
		acts, err := r.Arrive(u, "bytes", false)
		require.NoError(t, err)
		r.note(acts)
	}
	step, _ := r.Next(0)
	require.Equal(t, Done, step.Kind)
	r.Leave()
	acts, err := r.Enter(Entry{Policy: sched.Static, Tasks: 4, Signature: signature}, 0)
	require.NoError(t, err)
	r.note(acts)
	require.Equal(t, map[int]bool{0: true}, r.took, "one update is always kept")
	ran, last := r.runAll(0)
	require.Equal(t, []int{2, 3, 1}, ran)
	require.Equal(t, Done, last.Kind)
}

// A replica runs a task whose update was lost with a connection, even if a
// static schedule assigns it to another replica. It still awaits the other
// tasks of the sender.
func TestLostUpdateIsRunHere(t *testing.T) {
	for _, replicas := range []int{2, 3, 4} {
		tasks := 2 * replicas
		r := enter(t, 0, replicas, sched.Static, tasks)
		// Half of the update has arrived in place.
		place, err := r.Announce(about(1, 2, tasks), true)
		require.NoError(t, err)
		require.Equal(t, Into, place)
		r.Torn(about(1, 2, tasks))
		ran, last := r.runAll(0)
		require.Equal(t, []int{0, 1}, ran)
		require.Equal(t, Wait, last.Kind, "it may still come")
		require.NoError(t, r.Lost(about(1, 2, tasks)))
		ran, last = r.runAll(0)
		require.Equal(t, []int{2}, ran)
		require.Equal(t, Wait, last.Kind)
		require.NotContains(t, r.sent[2], 1, "its sender has it")
		for task := 3; task < tasks; task++ {
			r.arrive(task/2, task, tasks)
		}
		_, last = r.runAll(0)
		require.Equal(t, Done, last.Kind)
	}
}

// An update is lost before its section is entered.
func TestLostEarlyUpdateIsRunHere(t *testing.T) {
	r := enter(t, 1, 2, sched.Static, 0)
	u := Update{Peer: 0, Section: 1, Task: 0, Tasks: 4, Signature: signature, Size: 100}
	require.NoError(t, r.Lost(u))
	r.Next(0)
	r.Leave()
	_, err := r.Enter(Entry{Policy: sched.Static, Tasks: 4, Signature: signature}, 0)
	require.NoError(t, err)
	ran, last := r.runAll(0)
	require.ElementsMatch(t, []int{0, 1, 2, 3}, ran)
	require.Equal(t, Done, last.Kind)
	u.Signature++
	r.Leave()
	var d *Divergence
	require.ErrorAs(t, r.Lost(u), &d, "the signature of a lost update is still compared")
}

// Replicas learn of a death at different times. If blocks depended on the live replicas,
// two replicas could wait for each other.
func TestStaticBlocksDoNotDependOnDeaths(t *testing.T) {
	knows, not := enter(t, 1, 4, sched.Static, 0), enter(t, 2, 4, sched.Static, 0)
	knows.Dead(0)
	for _, r := range []*replica{knows, not} {
		r.Next(0)
		r.Leave()
		_, err := r.Enter(Entry{Policy: sched.Static, Tasks: 12, Signature: signature}, 0)
		require.NoError(t, err)
	}
	ran, _ := knows.runAll(0)
	require.Subset(t, ran, []int{0, 1, 2, 3, 4, 5})
	ran, _ = not.runAll(0)
	require.Equal(t, []int{6, 7, 8}, ran)
}

// A replica is alone until it has received frames of all live replicas. Met concerns only
// the last section.
func TestAlone(t *testing.T) {
	r := enter(t, 0, 3, sched.Adaptive, 3)
	require.True(t, r.Alone())
	require.False(t, r.Met(0))
	require.NoError(t, r.Entered(about(1, 0, 3)))
	require.True(t, r.Alone(), "2 may come")
	require.True(t, r.Met(0), "replica 1 has entered, though it has claimed nothing")
	r.Dead(2)
	require.False(t, r.Alone())
	r.runAll(time.Hour)
	r.Leave()
	_, err := r.Enter(Entry{Policy: sched.Adaptive, Tasks: 3, Signature: signature}, 0)
	require.NoError(t, err)
	require.False(t, r.Met(1))
	require.False(t, r.Alone(), "a frame from it has arrived")
	r.Alive(2)
	require.True(t, r.Alone())
}

// A replica that has passed a section, because its results are stored, has met a peer that
// has reached that section, too.
func TestMetInAPassedSection(t *testing.T) {
	r := enter(t, 0, 2, sched.Adaptive, 3)
	r.runAll(time.Hour)
	r.Leave()
	_, err := r.Pass(3, signature, time.Hour)
	require.NoError(t, err)
	require.False(t, r.Met(1))
	entered := about(1, 0, 3)
	entered.Section = 1
	require.NoError(t, r.Entered(entered))
	require.True(t, r.Met(1))
}

// A replica that knows that a peer has reached a later section sends it nothing about
// earlier ones.
func TestEnteredLaterSection(t *testing.T) {
	r := enter(t, 0, 2, sched.Adaptive, 4)
	later := about(1, 0, 2)
	later.Section = 5
	require.NoError(t, r.Entered(later))
	ran, last := r.runAll(0)
	require.Len(t, ran, 4)
	require.Equal(t, Done, last.Kind)
	require.Empty(t, r.sent[1])
}

func TestDivergence(t *testing.T) {
	other := about(1, 1, 2)
	other.Signature++
	more := about(1, 1, 3)
	tests := []struct {
		name string
		do   func(r *replica) error
		want string
	}{
		{"announced", func(r *replica) error { _, err := r.Announce(other, false); return err }, "signature"},
		{"arrived", func(r *replica) error { _, err := r.Arrive(other, nil, false); return err }, "signature"},
		{"claimed", func(r *replica) error { return r.Claimed(other, 0) }, "signature"},
		{"entered", func(r *replica) error { return r.Entered(other) }, "signature"},
		{"number of tasks", func(r *replica) error { return r.Claimed(more, 0) }, "here 2 tasks were launched, there 3"},
		{"late", func(r *replica) error {
			r.runAll(0)
			r.Leave()
			_, err := r.Arrive(other, nil, false)
			return err
		}, "section 0, task 1"},
		{"peer returned early", func(r *replica) error { return r.Finished(1, 0) }, "returned after 0 sections"},
		{"early", func(r *replica) error {
			r.runAll(0)
			r.Leave()
			u := other
			u.Section = 1
			_, err := r.Arrive(u, nil, false)
			require.NoError(t, err)
			_, err = r.Enter(Entry{Policy: sched.Adaptive, Tasks: 2, Signature: signature}, 0)
			return err
		}, "section 1, task 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.do(enter(t, 0, 2, sched.Adaptive, 2))
			var d *Divergence
			require.ErrorAs(t, err, &d)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, []int{0, 1}, []int{d.Replica, d.Peer})
		})
	}
}
