package engine

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// verified makes the replicas verify a share of all tasks.
func verified(share float64) setup {
	return func(s *job.Setup, _ *Config) { s.Verify = &job.Verification{Share: share, Seed: 7} }
}

// flipped makes replicas compute wrong results.
func flipped(t *testing.T, flips ...string) setup {
	return func(s *job.Setup, _ *Config) {
		for _, text := range flips {
			f, err := job.ParseFlip(text)
			require.NoError(t, err)
			if f.Process == s.Self {
				s.Flips = append(s.Flips, f)
			}
		}
	}
}

// twoRounds runs a program of two rounds, and returns the result of each replica.
func twoRounds(g *group, policy sched.Policy) map[*replica]*vectors {
	all := make(map[*replica]*vectors)
	for _, r := range g.replicas {
		all[r] = newVectors(nil)
	}
	g.run(func(r *replica, p *Program) error {
		for range 2 {
			if err := all[r].round(p, policy); err != nil {
				return err
			}
		}
		return nil
	})
	return all
}

// sums adds up the counts of the replicas.
func (g *group) sums() (sum job.Corruption) {
	for _, r := range g.replicas {
		c := r.engine.Snapshot().Corruption
		sum.Compared, sum.Differed, sum.Repaired = sum.Compared+c.Compared, sum.Differed+c.Differed, sum.Repaired+c.Repaired
	}
	return sum
}

const tasksOfRounds = 4 * 16

// One wrong result of any task, with any number of replicas, is found and repaired. All
// replicas name the process that computed it.
func TestWrongResultIsRepaired(t *testing.T) {
	want := serial(2)
	for replicas := 1; replicas <= 3; replicas++ {
		for task := 0; task < tasksOfRounds; task += 3 {
			wrong := task % replicas
			g := newGroup(t, replicas, verified(1), threads(1+task%2), flipped(t, fmt.Sprintf("0.%d@task:%d", wrong, task)))
			for r, v := range twoRounds(g, sched.Policy(task%3)) {
				require.NoError(t, r.err)
				require.Equal(t, want, v, "task %d, replica %v", task, r.setup.Self)
				c := r.engine.Snapshot().Corruption
				require.Len(t, c.Blames, 1)
				require.Equal(t, job.Process{Replica: wrong}, c.Blames[0].Process)
				each := 16 // bodies in a section; a single replica runs each task twice
				if replicas == 1 {
					each = 32
				}
				require.Equal(t, task/each, int(c.Blames[0].Section))
			}
			require.Equal(t, job.Corruption{Compared: tasksOfRounds, Differed: 1, Repaired: 1}, g.sums())
		}
	}
}

// A process computes a wrong result, and the same or another replica dies at about the
// same time. The live replicas have the right bits.
func TestWrongResultBesideDeath(t *testing.T) {
	want := serial(2)
	for replicas := 2; replicas <= 3; replicas++ {
		for task := 1; task < tasksOfRounds; task += 5 {
			flip, kill := fmt.Sprintf("0.%d@task:%d", task%replicas, task), fmt.Sprintf("0.%d@task:%d", task/5%replicas, max(task+task%7-3, 0))
			g := newGroup(t, replicas, verified(1), flipped(t, flip), killed(t, kill))
			all := twoRounds(g, sched.Adaptive)
			for _, r := range g.survivors() {
				require.NoError(t, r.err, "%s %s", flip, kill)
				require.Equal(t, want, all[r], "%s %s", flip, kill)
			}
		}
	}
}

// All replicas run the sampled tasks, and share the other tasks. If nothing is shared, all
// tasks are compared, because each replica runs them anyway.
func TestSampledTasks(t *testing.T) {
	want := serial(2)
	for _, policy := range []sched.Policy{sched.Static, sched.Adaptive, sched.Replicate} {
		for replicas := 1; replicas <= 3; replicas++ {
			g := newGroup(t, replicas, verified(0.2), share)
			sampled := 0
			for section := range uint64(4) {
				sampled += len(verify.Sampler{Share: 0.2, Seed: 7, Replicas: replicas}.Sample(nil, section, 16))
			}
			require.Positive(t, sampled)
			for r, v := range twoRounds(g, policy) {
				require.NoError(t, r.err)
				require.Equal(t, want, v)
				if st := r.engine.Snapshot(); policy == sched.Static {
					require.LessOrEqual(t, st.TasksReceived, int64(tasksOfRounds-sampled))
				}
			}
			if policy == sched.Replicate && replicas > 1 {
				sampled = tasksOfRounds
			}
			require.Equal(t, job.Corruption{Compared: int64(sampled)}, g.sums())
		}
	}
}

// If each of two replicas repeats its own result, neither can be blamed.
func TestUndecided(t *testing.T) {
	// The first section has 16 tasks. The 17th body is the repetition of the task that
	// differs.
	g := newGroup(t, 2, verified(1), flipped(t, "0.1@task:4:9", "0.1@task:16:9"))
	for r := range twoRounds(g, sched.Adaptive) {
		require.ErrorIs(t, r.err, ErrCorrupt)
		require.ErrorContains(t, r.err, "the results of task 4 in section 0 differ, and it cannot be told whose is wrong (replica 0: ")
		require.Equal(t, job.FailCorruption, failure(r.err).Kind)
	}
}

// A difference in memory before the section is a divergence.
func TestDivergedBeforeVerifiedSection(t *testing.T) {
	g := newGroup(t, 2, verified(1))
	g.run(func(r *replica, p *Program) error {
		x, w := make([]float64, 100), make([]float64, 1)
		x[17] = float64(r.setup.Self.Replica)
		return runSection(p, sched.Adaptive, 1, func(int) Task {
			return Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.In, "x", x), update.Slice(update.Out, "w", w)},
				Body: func() { w[0] = x[17] }}
		})
	})
	for _, r := range g.replicas {
		require.ErrorIs(t, r.err, ErrDiverged)
		require.ErrorContains(t, r.err, "what it reads has hash")
	}
}

// Padding has no meaning, so it may differ.
func TestPaddingIsNotCompared(t *testing.T) {
	type padded struct {
		a uint8
		b float64
	}
	g := newGroup(t, 2, verified(1))
	g.run(func(r *replica, p *Program) error {
		x := make([]padded, 3)
		region := update.Slice(update.Out, "x", x)
		region.Mem[1] = byte(r.setup.Self.Replica)
		return runSection(p, sched.Adaptive, 1, func(int) Task {
			return Task{Kernel: kernelAdd, Regions: []update.Region{region}, Body: func() { x[2].a, x[2].b = 1, 2 }}
		})
	})
	for _, r := range g.replicas {
		require.NoError(t, r.err)
	}
	require.Zero(t, g.sums().Differed)
}

// The last run of a task may give a wrong result. Then the result of an earlier run is
// restored.
func TestResultOfAnEarlierRunIsTaken(t *testing.T) {
	// Replica 1 disputes task 4; the 17th body of replica 2 is task 4 once more.
	g := newGroup(t, 3, verified(1), flipped(t, "0.1@task:4:9", "0.2@task:16:11"))
	for r, v := range twoRounds(g, sched.Adaptive) {
		require.NoError(t, r.err)
		require.Equal(t, serial(2), v, "replica %v", r.setup.Self)
		require.Equal(t, []job.Process{{Replica: 1}, {Replica: 2}}, blamedBy(r), "a process that contradicts itself is blamed, too")
	}
}

// blamedBy returns the processes that a replica has blamed, in order.
func blamedBy(r *replica) (all []job.Process) {
	for _, c := range r.engine.Snapshot().Corruption.Blames {
		all = append(all, c.Process)
	}
	slices.SortFunc(all, func(a, b job.Process) int { return a.Replica - b.Replica })
	return all
}

// A replica that never computes the right result reports that it cannot continue, and
// waits to be killed. The other replicas continue.
func TestReplicaThatNeverComputesTheRightResult(t *testing.T) {
	flips := []string{"0.2@task:4:9"}
	for task := range 1 + tries { // flip in each run of that task
		flips = append(flips, fmt.Sprintf("0.2@task:%d:9", 16+task))
	}
	g := newGroup(t, 3, verified(1), flipped(t, flips...))
	var lost atomic.Int32
	g.onReport = func(r *replica, st job.Stats) {
		for _, c := range st.Corruption.Blames {
			if c.Lost && lost.Add(1) == 1 {
				require.Equal(t, r.setup.Self, c.Process)
				require.Equal(t, 4, c.Task)
				r.die(job.Kill{})
			}
		}
	}
	all := twoRounds(g, sched.Adaptive)
	require.EqualValues(t, 1, lost.Load())
	require.Equal(t, g.replicas[:2], g.survivors())
	require.Error(t, g.replicas[2].err)
	for _, r := range g.survivors() {
		require.NoError(t, r.err)
		require.Equal(t, serial(2), all[r])
		// A replica that learns of the death first does not have to blame any process.
		require.Subset(t, []job.Process{{Replica: 2}}, blamedBy(r))
	}
}

// Replicas that verify different sections have diverged.
func TestVerifiedSectionsThatDiffer(t *testing.T) {
	g := newGroup(t, 2, verified(1))
	g.run(func(r *replica, p *Program) error {
		x := make([]float64, 8)
		return runSection(p, sched.Replicate, 2-r.setup.Self.Replica, func(i int) Task {
			return Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.Out, "x", x[4*i:4*i+4])}, Body: func() {}}
		})
	})
	for _, r := range g.replicas {
		require.ErrorIs(t, r.err, ErrDiverged)
	}
}

// Sections with sampled tasks use stores, too, even with wrong results of sampled tasks
// and with deaths.
func TestSampledTasksBesideStores(t *testing.T) {
	const n, size = 6, 16
	want := serial(n)
	var stored, differed int64
	for seed := range uint64(24) {
		replicas := 2 + int(seed%2)
		task := 0 // with several workers: the first task that ends is a sampled one, since they run these first
		with := []setup{verified(0.3), share}
		if seed%4 < 2 {
			with = append(with, threads(2))
		} else {
			sampler := verify.Sampler{Share: 0.3, Seed: 7, Replicas: replicas}
			task = int(seed) % len(sampler.Sample(nil, 0, size))
		}
		if with = append(with, flipped(t, fmt.Sprintf("0.%d@task:%d", replicas-1, task))); seed >= 12 && seed%4 >= 2 {
			with = append(with, killed(t, randomKills(seed, replicas)...))
		}
		g := newGroup(t, replicas, with...).withStores()
		final := make([]*vectors, replicas)
		g.run(rounds(n, sched.Adaptive, final))
		for _, r := range g.survivors() {
			require.NoError(t, r.err, "seed %d", seed)
			require.Equal(t, want, final[r.setup.Self.Replica], "seed %d", seed)
			for _, k := range r.engine.Snapshot().TaskTypes {
				stored += k.Stored
			}
		}
		differed += g.sums().Differed
	}
	require.Positive(t, stored)
	require.GreaterOrEqual(t, differed, int64(12), "at least in runs without kills")
}

// A wrong result that is not compared is the same on all replicas of a host: no replica
// runs the task of another replica that is late. Otherwise the right result would be on
// one replica and the wrong one on another, and the replica with the right one could be
// blamed later.
func TestUncomparedResultsAreTheSameOnAllReplicas(t *testing.T) {
	together := func(s *job.Setup, _ *Config) { s.Together = true }
	g := newGroup(t, 2, verified(1e-9), share, together).withStores()
	all := make([][]float64, 2)
	g.run(func(r *replica, p *Program) error {
		x := make([]float64, 4)
		all[r.setup.Self.Replica] = x
		return runSection(p, sched.Adaptive, len(x), func(i int) Task {
			return Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.Out, "x", x[i:i+1])}, Body: func() {
				if x[i] = 1; r.setup.Self.Replica == 1 {
					x[i] = 2
					time.Sleep(200 * time.Millisecond)
				}
			}}
		})
	})
	for _, r := range g.replicas {
		require.NoError(t, r.err)
	}
	require.Contains(t, all[0], 2.0)
	require.Equal(t, all[0], all[1])
}

// If tasks are sampled, sections are shared whenever their results can be stored, even if
// that takes longer. If each replica ran all tasks, all would have to be compared.
func TestSampledSectionsAreShared(t *testing.T) {
	for _, c := range []struct {
		with []setup
		want direct.Way
	}{{nil, direct.Replicate}, {[]setup{verified(0.05)}, direct.Store}} {
		g := newGroup(t, 2, append(c.with, share)...).withStores()
		newVectors(g.replicas[1].arena)
		x := newVectors(g.replicas[0].arena).x
		d := g.replicas[0].engine.stores
		require.True(t, d.begun())
		s := &Section{Tasks: []Task{{Kernel: kernelScale, Regions: []update.Region{update.Slice(update.InOut, "x", x)}}}}
		never := attempt{rejected: true, pause: 1 << 40}
		s.decision = &decision{sending: never, storing: never}
		require.Equal(t, c.want, d.agree(s, candidates{}))
	}
}

// Before tasks change memory in place, its contents are copied into buffers. A section
// reuses the buffers of an earlier section, even if a section between them has changed
// nothing in place.
func TestEntryStateIsKeptInTheSameMemory(t *testing.T) {
	a, b, sum := make([]float64, 1000), make([]float64, 2000), 0.0
	sections := [][]update.Region{
		{update.Slice(update.InOut, "a", a), update.Slice(update.InOut, "b", b)},
		{update.Slice(update.In, "a", a)},
		{update.Var(update.Reduce, "sum", &sum), update.Slice(update.Out, "b", b)},
	}
	var x sampled
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for _, regions := range sections {
			x.keepEntry(regions)
		}
	}))
	x.keepEntry(sections[0])
	a[1], b[1] = 1, 1
	x.restoreEntry(0, sections[0])
	require.Zero(t, a[1]+b[1])
}

// The oldest of several errors decides how far the job rolls back, even if the program failed
// before that error was found.
func TestDisputeIsAboutTheOldest(t *testing.T) {
	v := new(verifier)
	v.counts.Dispute = job.NewDispute(job.Failure{Kind: job.FailError, Text: "it fell"}, 9, 2)
	for _, below := range []uint64{5, 3, 4} {
		v.disputeSince(below, job.Failure{Kind: job.FailCorruption, Text: fmt.Sprint("since ", below)})
	}
	require.Equal(t, &job.Dispute{Kind: job.FailCorruption, Point: 9, Below: 3, Generation: 2, Text: "since 3"}, v.counts.Dispute)
}
