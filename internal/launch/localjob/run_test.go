package localjob_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/localjob"
	"github.com/intrahpc/intra/internal/replica/engine"
)

var relax = intra.Register("localjob_test.relax")

// walk is a program with state, safe points, sections and messages.
type walk struct {
	steps int64
	slow  time.Duration                     // duration of a step, so that a replacement can join in time
	at    func(*intra.Process, int64) error // called in each step; nil: nothing

	mu   sync.Mutex
	sums map[int]map[float64]bool // results of each rank, by any of its replicas
}

func (w *walk) run(p *intra.Process) error {
	x := make([]float64, 64)
	for i := range x {
		x[i] = float64(p.Rank()*100 + i)
	}
	var step int64
	intra.Protect(p, "x", &x)
	intra.Protect(p, "step", &step)
	for ; step < w.steps; step++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		time.Sleep(w.slow)
		if w.at != nil {
			if err := w.at(p, step); err != nil {
				return err
			}
		}
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			part := x[lo:hi]
			s.Launch(relax, func() {
				for i := range part {
					part[i] = part[i]*0.75 + 1/float64(step+2)
				}
			}, intra.InOut("x", part))
		}
		if err := s.End(); err != nil {
			return err
		}
		sum, err := comm.AllreduceValue(p.World(), x[0], comm.Sum[float64])
		if err != nil {
			return err
		}
		x[1] += sum
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sums[p.Rank()] == nil {
		w.sums[p.Rank()] = make(map[float64]bool)
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	w.sums[p.Rank()][sum] = true
	return nil
}

// until runs the program, each time with slower steps, until the given number of replacements have
// joined before its end. On a busy machine that takes several runs.
func (w *walk) until(t *testing.T, joins int, spec intra.Spec, local job.Local) (map[int]map[float64]bool, *job.Local, error) {
	t.Helper()
	for {
		l := local
		got, err := w.result(t, spec, &l)
		if len(l.Joined) >= joins || w.slow >= time.Second {
			return got, &l, err
		}
		w.slow *= 5
	}
}

// result runs the program and returns the results of each rank.
func (w *walk) result(t *testing.T, spec intra.Spec, local *job.Local) (map[int]map[float64]bool, error) {
	t.Helper()
	w.sums = make(map[int]map[float64]bool)
	err := intra.Run(job.WithLocal(t.Context(), local), spec, w.run)
	return w.sums, err
}

func kills(t *testing.T, all ...string) (parsed []job.Kill) {
	t.Helper()
	for _, s := range all {
		k, err := job.ParseKill(s)
		require.NoError(t, err)
		parsed = append(parsed, k)
	}
	return parsed
}

// deaths returns the verdicts as text.
func deaths(l *job.Local) (all []string) {
	for _, v := range l.Verdicts {
		all = append(all, fmt.Sprintf("%v#%d %s", v.Process, v.Incarnation, v.Cause))
	}
	return all
}

func names(all []job.Process) (s []string) {
	for _, p := range all {
		s = append(s, p.String())
	}
	return s
}

var errLicence = errors.New("no licence")

// fails is a hook that makes some processes fail in a step.
func fails(step int64, how func() error, who ...job.Process) func(*intra.Process, int64) error {
	return func(p *intra.Process, at int64) error {
		for _, q := range who {
			if at == step && p.Rank() == q.Rank && p.Replica() == q.Replica {
				return how()
			}
		}
		return nil
	}
}

// TestRun runs jobs with deaths of all kinds. It compares the deaths, the replacements, the
// number of rollbacks, and the end. If a job ends well, its result is that of a job without
// deaths.
func TestRun(t *testing.T) {
	boom := func() error { panic("boom") }
	licence := func() error { return fmt.Errorf("start: %w", errLicence) }
	for _, c := range []struct {
		name      string
		degrees   []int
		local     job.Local
		kills     []string
		at        func(*intra.Process, int64) error
		deaths    []string
		joined    []string
		rollbacks int
		err       error // error that Run wraps; nil: the job ends well
		texts     []string
	}{
		{name: "nothing happens", degrees: []int{2, 1, 3}},
		{name: "killed at a section", degrees: []int{2, 1}, kills: []string{"0.1@section:3"}, deaths: []string{"0.1#1 injected"}},
		{name: "killed at a task", degrees: []int{1, 3}, kills: []string{"1.1@task:20"}, local: job.Local{Sched: "static"}, deaths: []string{"1.1#1 injected"}},
		{name: "killed in an update", degrees: []int{2}, kills: []string{"0.0@update:5"}, local: job.Local{Capacity: 64, Sched: "static"}, deaths: []string{"0.0#1 injected"}},
		{name: "killed in a message", degrees: []int{2, 2}, kills: []string{"1.0@message:4"}, deaths: []string{"1.0#1 injected"}},
		{name: "all replicas of a rank are killed", degrees: []int{1, 2}, local: job.Local{Sched: "static"}, kills: []string{"1.0@section:3", "1.1@section:6"},
			deaths: []string{"1.0#1 injected", "1.1#1 injected"},
			err:    localjob.ErrLost, texts: []string{"rank 1 has lost its last replica 1.1", "(injected: killed on request at section:6), after 1.0 (injected)"}},
		{name: "replaced", degrees: []int{2, 2}, local: job.Local{Replace: true}, kills: []string{"1.0@section:5"},
			deaths: []string{"1.0#1 injected"}, joined: []string{"1.0"}},
		{name: "replaced, and its replacement too", degrees: []int{2}, local: job.Local{Replace: true}, kills: []string{"0.1@section:4", "0.1@section:7"},
			deaths: []string{"0.1#1 injected", "0.1#2 injected"}, joined: []string{"0.1", "0.1"}},
		{name: "killed before it has joined", degrees: []int{2}, local: job.Local{Replace: true}, kills: []string{"0.1@section:4", "0.1@join:receive"},
			deaths: []string{"0.1#1 injected", "0.1#2 injected"}, joined: []string{"0.1"}},
		{name: "replaced without a backup", degrees: []int{1, 2}, local: job.Local{Replace: true}, kills: []string{"0.0@section:5"},
			deaths: []string{"0.0#1 injected"},
			err:    localjob.ErrLost, texts: []string{"rank 0 could not be brought back: no backup was asked for"}},
		{name: "rolled back to a backup", degrees: []int{1, 1}, local: job.Local{Replace: true, Backup: 2}, kills: []string{"1.0@section:20"},
			deaths: []string{"1.0#1 injected"}, joined: []string{"1.0"}, rollbacks: 1},
		{name: "back twice", degrees: []int{1, 1, 1}, local: job.Local{Replace: true, Backup: 2}, kills: []string{"1.0@section:20", "2.0@section:45"},
			deaths: []string{"1.0#1 injected", "2.0#1 injected"}, joined: []string{"1.0", "2.0"}, rollbacks: 2},
		{name: "lost during a rollback", degrees: []int{1, 1}, local: job.Local{Replace: true, Backup: 2}, kills: []string{"1.0@section:20", "0.0@backup:abort"},
			deaths: []string{"1.0#1 injected", "0.0#1 injected"}, joined: []string{"1.0"}, rollbacks: 1,
			err: localjob.ErrLost, texts: []string{"the job cannot go back to safe point", "the last process that held the state of rank 0 is dead: 0.0"}},
		{name: "one program fails", degrees: []int{2}, at: fails(3, licence, job.Process{Replica: 1}), deaths: []string{"0.1#1 exit"}},
		{name: "one program panics", degrees: []int{3}, at: fails(3, boom, job.Process{Replica: 2}), deaths: []string{"0.2#1 panic"}},
		{name: "a failed process is not replaced", degrees: []int{2}, local: job.Local{Replace: true}, at: fails(3, licence, job.Process{Replica: 1}), deaths: []string{"0.1#1 exit"}},
		{name: "the last one fails", degrees: []int{1, 1}, at: fails(3, licence, job.Process{Rank: 1}), deaths: []string{"1.0#1 exit"},
			err: errLicence, texts: []string{"1.0: start: no licence"}},
		{name: "the last one panics", degrees: []int{2}, local: job.Local{Sched: "static"}, kills: []string{"0.0@section:2"}, at: fails(4, boom, job.Process{Replica: 1}),
			deaths: []string{"0.0#1 injected", "0.1#1 panic"}, texts: []string{"0.1: ", "boom", "run_test.go"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spec := intra.Spec{Degrees: c.degrees}
			w := walk{steps: 30}
			if c.local.Replace {
				w.slow, w.steps = time.Millisecond, 60
			}
			want, err := w.result(t, spec, new(job.Local))
			require.NoError(t, err)
			c.local.Kills, w.at = kills(t, c.kills...), c.at
			got, local, err := w.until(t, len(c.joined), spec, c.local)
			for i, fired := range local.Fired {
				require.True(t, fired, "%v: %v", local.Kills[i], err)
			}
			require.Equal(t, c.deaths, deaths(local), "%v", err)
			require.Equal(t, c.joined, names(local.Joined))
			require.Equal(t, c.rollbacks, local.Rollbacks)
			require.Len(t, local.Stats, len(job.Processes(c.degrees)))
			if c.err == nil && c.texts == nil {
				require.NoError(t, err)
				require.Equal(t, want, got)
				require.GreaterOrEqual(t, len(local.Former), len(c.joined))
				return
			}
			require.Error(t, err)
			for _, text := range c.texts {
				require.ErrorContains(t, err, text)
			}
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
			require.Equal(t, c.err == localjob.ErrLost, errors.Is(err, localjob.ErrLost))
		})
	}
}

// Jobs give the same results with every kind of link.
func TestLinks(t *testing.T) {
	w := walk{steps: 20, slow: time.Millisecond}
	want, err := w.result(t, intra.Spec{Degrees: []int{2, 2}}, new(job.Local))
	require.NoError(t, err)
	for _, kind := range []string{"inproc", job.LinkSHM, job.LinkUnix, job.LinkTCP} {
		t.Run(kind, func(t *testing.T) {
			for _, capacity := range []int{0, 4096} {
				local := job.Local{Replace: true, Capacity: capacity, Kills: kills(t, "1.1@section:4")}
				got, after, err := w.until(t, 1, intra.Spec{Degrees: []int{2, 2}, Link: kind}, local)
				require.NoError(t, err)
				require.Equal(t, want, got)
				require.Len(t, after.Joined, 1, "a joiner gets links of that kind, too")
			}
		})
	}
}

// A finished rank may die once the others have received all of its messages, and not before.
func TestDeathOfAFinishedRank(t *testing.T) {
	const size = 50_000 // too large to be sent before a receive requests it
	for _, c := range []struct {
		degrees []int
		kill    string
		err     error
	}{
		{[]int{2, 2}, "0.1@message:0", nil},
		{[]int{1, 2}, "0.0@message:0", localjob.ErrLost},
	} {
		t.Run(fmt.Sprint(c.degrees), func(t *testing.T) {
			var returned sync.WaitGroup
			returned.Add(c.degrees[0])
			local := &job.Local{Kills: kills(t, c.kill)}
			err := intra.Run(job.WithLocal(t.Context(), local), intra.Spec{Degrees: c.degrees}, func(p *intra.Process) error {
				x := make([]float64, size)
				if p.Rank() == 0 {
					defer returned.Done()
					comm.Isend(p.World(), x, 1, 0)
					return nil
				}
				returned.Wait() // the program has returned, or is about to
				_, err := comm.Recv(p.World(), x, 0, 0)
				return err
			})
			require.ErrorIs(t, err, c.err)
			require.Equal(t, []bool{true}, local.Fired)
		})
	}
}

// If replicas have diverged, the head finds that at the latest when it compares their counts.
func TestDivergence(t *testing.T) {
	err := intra.Run(job.WithLocal(t.Context(), &job.Local{Sched: "replicate"}), intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		for range 3 + p.Replica() {
			s := p.Section()
			x := make([]float64, 1)
			s.Launch(relax, func() { x[0]++ }, intra.InOut("x", x))
			if err := s.End(); err != nil {
				return err
			}
		}
		return nil
	})
	require.ErrorIs(t, err, engine.ErrDiverged)
	require.NotErrorIs(t, err, localjob.ErrLost)
}

// If the context of the caller ends, the job ends with the cause of the context, although its
// processes are blocked in calls.
func TestEndOfTheContext(t *testing.T) {
	why := errors.New("the operator had enough")
	for _, degrees := range [][]int{{1}, {2, 1}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		err := intra.Run(ctx, intra.Spec{Degrees: degrees}, func(p *intra.Process) error {
			cancel(why)
			_, err := comm.Recv(p.World(), make([]byte, 1), p.Rank(), 0) // never sent
			require.ErrorIs(t, err, intra.ErrJobEnded)
			require.ErrorIs(t, err, why)
			return err
		})
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, intra.Run(ctx, intra.Spec{Degrees: degrees}, func(*intra.Process) error {
			t.Error("it has ended before it began")
			return nil
		}), why)
	}
}

// A kill at a time happens at that time of the head's clock.
func TestKillAtATime(t *testing.T) {
	local := &job.Local{Kills: kills(t, "0.0@1ms")}
	err := intra.Run(job.WithLocal(t.Context(), local), intra.Spec{}, func(p *intra.Process) error {
		_, err := comm.Recv(p.World(), make([]byte, 1), 0, 0) // never sent
		return err
	})
	require.ErrorIs(t, err, localjob.ErrLost)
	require.ErrorContains(t, err, "killed on request at 1ms")
}

// An error in the description of a job is reported before the program runs in any process.
func TestRefusedJobs(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		name  string
		spec  intra.Spec
		local job.Local
		want  string
	}{
		{"invalid degrees", intra.Spec{Degrees: []int{0}}, job.Local{}, "invalid job: rank 0 has degree 0"},
		{"no such link", intra.Spec{Ranks: 3, Link: "string"}, job.Local{}, `intra.Run: link 0.0 and 1.0: unknown kind of link "string": want inproc, shm, unix or tcp`},
		{"no files to begin with", intra.Spec{}, job.Local{Restart: empty}, "intra.Run: there is no checkpoint in " + empty},
		{"no folder to write to", intra.Spec{}, job.Local{Files: os.DevNull, Every: 1}, "intra.Run: write checkpoints to " + os.DevNull},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := intra.Run(job.WithLocal(t.Context(), &c.local), c.spec, func(*intra.Process) error {
				t.Error("the program runs")
				return nil
			})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A job continues from the files of an earlier one. If a set cannot be written or used, a
// message names it, and the job continues.
func TestFiles(t *testing.T) {
	spec := intra.Spec{Degrees: []int{2, 1}}
	w := walk{steps: 20, slow: 2 * time.Millisecond}
	want, err := w.result(t, spec, new(job.Local))
	require.NoError(t, err)
	dir := t.TempDir()

	// Once the job has begun, a file is put where the folder of the first set should be.
	obstacle := filepath.Join(dir, "set-000001")
	var once sync.Once
	var placed error
	w.at = func(*intra.Process, int64) error {
		once.Do(func() { placed = os.WriteFile(obstacle, nil, 0o600) })
		return nil
	}
	written := &job.Local{Files: dir, Every: 4}
	got, err := w.result(t, spec, written)
	require.NoError(t, errors.Join(err, placed))
	require.NoError(t, os.Remove(obstacle))
	w.at = nil
	require.Equal(t, want, got)
	require.NotEmpty(t, written.Sets)
	require.NotContains(t, written.Sets, uint64(1))
	require.Contains(t, written.Warnings[0], "checkpoint set 1 is abandoned: write the checkpoint of rank")

	newest := &job.Local{Files: dir, Every: 12} // writes one set; a second one may be left out if the first takes long
	_, err = w.result(t, spec, newest)
	require.NoError(t, err)
	require.Len(t, newest.Sets, 1)
	set := fmt.Sprintf("set-%06d", newest.Sets[0])
	require.NoError(t, os.Truncate(filepath.Join(dir, set, "rank-1"), 20))
	again := &job.Local{Restart: dir, Replace: true}
	got, err = w.result(t, intra.Spec{Degrees: []int{1, 3}}, again)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Len(t, again.Warnings, 1)
	require.Contains(t, again.Warnings[0], set+" is not used: rank-1: ")
	sections := int64(0)
	for _, s := range again.Stats {
		sections += s.Sections
	}
	require.Less(t, sections, 4*w.steps, "the program continued from the files")
}
