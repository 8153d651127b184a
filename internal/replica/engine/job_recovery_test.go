package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/intratest"
)

var relax = intra.Register("engine_test.relax")

// ring is a program with state, sections, collectives, Once, and messages that are in
// flight across safe points. In each pass each rank relaxes a vector, and adds the message
// that the previous rank sent in the previous pass and a sum over all ranks.
type ring struct {
	steps int
	slow  time.Duration // time of a pass, so that a replacement joins in time
	size  int

	mu   sync.Mutex
	sums map[int]float64 // the result of each rank; the same for all its replicas
	bad  error
}

func (r *ring) run(p *intra.Process) error {
	x := make([]float64, r.size)
	var total float64
	var step, chance int64
	intra.Protect(p, "x", &x)
	intra.Protect(p, "total", &total)
	intra.Protect(p, "step", &step)
	intra.Protect(p, "chance", &chance)
	c, err := p.World().Dup()
	if err != nil {
		return err
	}
	if !p.Restored() {
		for i := range x {
			x[i] = float64(p.Rank()*1000 + i)
		}
	}
	next, before := (p.Rank()+1)%p.Size(), (p.Rank()+p.Size()-1)%p.Size()
	for ; step < int64(r.steps); step++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		if r.slow > 0 {
			time.Sleep(r.slow)
		}
		if step > 0 {
			var in [1]float64
			if _, err := comm.Recv(c, in[:], before, 7); err != nil {
				return err
			}
			total += in[0]
		}
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			part := x[lo:hi]
			s.Launch(relax, func() {
				for i := range part {
					part[i] = part[i]*0.75 + float64(i+1)/float64(step+2)
				}
			}, intra.InOut("x", part))
		}
		if err := s.End(); err != nil {
			return err
		}
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		all, err := comm.AllreduceValue(c, sum+total, comm.Sum[float64])
		if err != nil {
			return err
		}
		total = total/2 + all/1e6
		n, err := intra.Once(p, func() (int64, error) { return step * 3, nil })
		if err != nil {
			return err
		}
		chance += n
		if step+1 < int64(r.steps) {
			if err := comm.Send(c, []float64{total + float64(chance)}, next, 7); err != nil {
				return err
			}
		}
	}
	for _, v := range x {
		total += v
	}
	return r.ends(p, total+float64(chance))
}

func (r *ring) ends(p *intra.Process, sum float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sums == nil {
		r.sums = make(map[int]float64)
	}
	if was, ok := r.sums[p.Rank()]; ok && was != sum {
		r.bad = fmt.Errorf("the replicas of rank %d have the results %v and %v", p.Rank(), was, sum)
	}
	r.sums[p.Rank()] = sum
	return nil
}

// result runs the program and returns the result of each rank.
func (r *ring) result(t *testing.T, degrees []int, opts ...intratest.Option) (map[int]float64, intratest.Report) {
	t.Helper()
	r.sums, r.bad = nil, nil
	report := intratest.Run(t, intra.Spec{Degrees: degrees}, r.run, opts...)
	require.NoError(t, r.bad)
	return r.sums, report
}

// TestReplacement kills a replica, for several degrees. The replacement takes its share of
// the tasks, and the result is that of a run without failures.
func TestReplacement(t *testing.T) {
	r := ring{steps: 60, slow: time.Millisecond, size: 4000}
	for _, degrees := range [][]int{{2}, {2, 2}, {3, 2}, {1, 2, 3}} {
		t.Run(fmt.Sprint(degrees), func(t *testing.T) {
			want, _ := r.result(t, degrees)
			last := len(degrees) - 1
			victim := job.Process{Rank: last, Replica: degrees[last] - 1}
			got, report := r.result(t, degrees, intratest.Replace(), intratest.Sched("static"),
				intratest.Kills(fmt.Sprintf("%v@task:%d", victim, 40)))
			require.Equal(t, want, got)
			require.Equal(t, []string{victim.String()}, report.Deaths)
			require.Equal(t, []string{victim.String()}, report.Replaced)
			require.Positive(t, report.Tasks[victim.String()], "the replacement took no share")
		})
	}
}

// TestKillsInJoins kills the donor, the joiner, a third process, or two at once at every
// step of a replacement. The result is right. In the end every slot is filled again,
// unless its process died too late for that.
func TestKillsInJoins(t *testing.T) {
	r := ring{steps: 80, slow: time.Millisecond, size: 512}
	degrees := []int{3, 3}
	want, _ := r.result(t, degrees)
	for _, step := range job.JoinSteps {
		all := []string{"1.0", "1.1", "1.2", "0.0", "1.0 0.0", "1.0 1.2", "1.2 0.2"}
		if testing.Short() { // as under the race detector
			all = []string{"1.0", "0.0", "1.0 1.2"}
		}
		for _, who := range all {
			t.Run(step+" "+who, func(t *testing.T) {
				kills := []string{"1.2@task:40"}
				for w := range strings.FieldsSeq(who) {
					kills = append(kills, w+"@join:"+step)
				}
				got, report := r.result(t, degrees, intratest.Replace(), intratest.MayKill(kills...))
				require.Equal(t, want, got)
				require.NotEmpty(t, report.Replaced)
			})
		}
	}
}

// TestLostInJoins kills a donor that is the last replica of its rank. So the rank is lost,
// unless the replacement is already live.
func TestLostInJoins(t *testing.T) {
	r := ring{steps: 80, slow: time.Millisecond, size: 512}
	degrees := []int{2, 2}
	want, _ := r.result(t, degrees)
	for _, step := range job.JoinSteps {
		t.Run(step, func(t *testing.T) {
			got, report := r.result(t, degrees, intratest.Replace(), intratest.Fails(),
				intratest.MayKill("1.1@task:40", "1.0@join:"+step))
			if report.Err != nil {
				require.ErrorIs(t, report.Err, intra.ErrLost)
				require.Contains(t, report.Err.Error(), "no backup was asked for")
				return
			}
			require.Equal(t, want, got)
		})
	}
}

// TestRollback kills all replicas of a rank. The job rolls back to its last backup with
// new replicas.
func TestRollback(t *testing.T) {
	r := ring{steps: 60, slow: time.Millisecond, size: 512}
	for _, c := range []struct {
		degrees []int
		kills   []string
	}{
		{[]int{1, 1}, []string{"1.0@message:30"}},
		{[]int{1, 2, 1}, []string{"0.0@task:300"}},
		{[]int{2, 2}, []string{"1.0@section:20", "1.1@section:20"}},
		{[]int{2, 1}, []string{"1.0@section:20"}},
		{[]int{1, 1, 1}, []string{"2.0@section:30", "0.0@section:40"}},
	} {
		t.Run(fmt.Sprint(c.degrees, c.kills), func(t *testing.T) {
			want, _ := r.result(t, c.degrees)
			got, report := r.result(t, c.degrees, intratest.Replace(), intratest.Backup(4), intratest.Kills(c.kills...))
			require.Equal(t, want, got)
			require.Positive(t, report.Rollbacks)
		})
	}
}

// TestKillsInBackups kills a process at every step of a backup and of the rollback to it,
// and a whole rank before or after that death. The result is right, or the job reports why it
// could not recover.
func TestKillsInBackups(t *testing.T) {
	r := ring{steps: 60, slow: time.Millisecond, size: 512}
	degrees := []int{1, 2, 1}
	want, _ := r.result(t, degrees)
	saved, all := 0, 0
	for _, step := range job.BackupSteps {
		for _, who := range []string{"0.0", "1.0", "1.1", "2.0", "1.0 2.0", "0.0 1.0"} {
			t.Run(step+" "+who, func(t *testing.T) {
				all++
				kills := []string{"0.0@section:25", "2.0@section:45"}
				for w := range strings.FieldsSeq(who) {
					kills = append(kills, w+"@backup:"+step)
				}
				got, report := r.result(t, degrees, intratest.Replace(), intratest.Backup(3), intratest.Fails(), intratest.MayKill(kills...))
				if report.Err != nil {
					require.ErrorIs(t, report.Err, intra.ErrLost)

					require.Contains(t, report.Err.Error(), "backup")
					return
				}
				require.Equal(t, want, got)
				require.Positive(t, report.Rollbacks)
				saved++
			})
		}
	}
	require.Greater(t, 5*saved, all, "too few jobs were saved")
}
