package intra_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/intratest"
)

var (
	taskWaxpby = intra.Register("test.waxpby")
	taskDot    = intra.Register("test.dot")
	taskPush   = intra.Register("test.push")
	taskBad    = intra.Register("test.bad")
)

const size = 1000

// state is the memory of a small program: w = a·x + b·y, a dot product, the aliased p = r +
// beta·p, and particles pushed in place.
type state struct {
	x, y, w, p, v []float64
	dot           float64
}

func newState() *state {
	s := &state{x: make([]float64, size), y: make([]float64, size), w: make([]float64, size),
		p: make([]float64, size), v: make([]float64, size)}
	for i := range size {
		s.x[i], s.y[i] = 1/float64(i+1), math.Sqrt(float64(i))
		s.p[i], s.v[i] = float64(i), 1/float64(i+3)
	}
	return s
}

func waxpby(a float64, x []float64, b float64, y, w []float64) {
	for i := range w {
		w[i] = float64(a*x[i]) + float64(b*y[i])
	}
}

// program runs rounds of four sections.
func (s *state) program(p *intra.Process, rounds int) error {
	for k := range rounds {
		sec := p.Section()
		for lo, hi := range intra.Blocks(size, p.Tasks()) {
			s.launchWaxpby(sec, 2, s.x[lo:hi], float64(k), s.y[lo:hi], s.w[lo:hi])
		}
		if err := sec.End(); err != nil {
			return err
		}
		sec = p.Section()
		for lo, hi := range intra.Blocks(size, p.Tasks()) {
			cell, r := intra.Reduce(sec, "dot", &s.dot, func(a, b float64) float64 { return a + b })
			w, y := s.w[lo:hi], s.y[lo:hi]
			sec.Launch(taskDot, func() {
				sum := 0.0
				for i := range w {
					sum += float64(w[i] * y[i])
				}
				*cell = sum
			}, intra.In("w", w), intra.In("y", y), r)
		}
		if err := sec.End(); err != nil {
			return err
		}
		sec = p.Section()
		for lo, hi := range intra.Blocks(size, p.Tasks()) { // p = x + p/8, where out is also read
			s.launchWaxpby(sec, 1, s.x[lo:hi], 0.125, s.p[lo:hi], s.p[lo:hi])
		}
		if err := sec.End(); err != nil {
			return err
		}
		sec = p.Section()
		for lo, hi := range intra.Blocks(size, p.Tasks()) {
			pos, v := s.p[lo:hi], s.v[lo:hi]
			sec.Launch(taskPush, func() {
				for i := range pos {
					pos[i] += v[i]
				}
			}, intra.InOut("p", pos), intra.In("v", v))
		}
		if err := sec.End(); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) launchWaxpby(sec *intra.Section, a float64, x []float64, b float64, y, w []float64) {
	sec.Launch(taskWaxpby, func() { waxpby(a, x, b, y, w) },
		intra.InVar("alpha", &a), intra.In("x", x), intra.InVar("beta", &b), intra.In("y", y), intra.Out("w", w))
}

func (s *state) serial(rounds int) {
	if err := s.program(nil, rounds); err != nil {
		panic(err)
	}
}

// survivors runs the program on a job and returns the final states of the
// replicas that finished.
func survivors(t *testing.T, spec intra.Spec, rounds int, opts ...intratest.Option) ([]*state, intratest.Report) {
	t.Helper()
	var mu sync.Mutex
	var all []*state
	report := intratest.Run(t, spec, func(p *intra.Process) error {
		s := newState()
		if err := s.program(p, rounds); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
		return nil
	}, opts...)
	return all, report
}

func TestSectionsHaveSerialMeaning(t *testing.T) {
	want := newState()
	want.serial(5)
	for replicas := 1; replicas <= 4; replicas++ {
		for _, policy := range []string{"static", "adaptive", "replicate"} {
			t.Run(fmt.Sprintf("%d %s", replicas, policy), func(t *testing.T) {
				got, report := survivors(t, intra.Spec{Replicas: replicas}, 5, intratest.Sched(policy))
				require.Len(t, got, replicas)
				for _, s := range got {
					require.Equal(t, want, s)
				}
				require.Equal(t, int64(20*replicas), report.Sections)
				if policy == "static" {
					require.Equal(t, int64(20*16), report.Run, "every task runs once")
					require.Equal(t, int64(20*16*(replicas-1)), report.Received)
				}
			})
		}
	}
}

func TestEveryLink(t *testing.T) {
	want := newState()
	want.serial(3)
	for _, link := range []string{"inproc", "shm", "unix", "tcp"} {
		t.Run(link, func(t *testing.T) {
			for _, kills := range [][]string{nil, {"0.0@update:11"}, {"0.2@update:11", "0.1@task:20"}} {
				got, report := survivors(t, intra.Spec{Replicas: 3, Link: link}, 3,
					intratest.Kills(kills...), intratest.Sched("static"))
				require.Len(t, report.Deaths, len(kills))
				require.Len(t, got, 3-len(kills))
				for _, s := range got {
					require.Equal(t, want, s)
				}
			}
		})
	}
}

func TestKilledReplicas(t *testing.T) {
	const rounds = 4
	want := newState()
	want.serial(rounds)
	tests := []struct {
		replicas int
		kills    []string
	}{
		{2, []string{"0.0@section:0"}},
		{2, []string{"0.1@section:7"}},
		{2, []string{"0.0@task:0"}},
		{2, []string{"0.1@task:20"}},
		{2, []string{"0.0@update:0"}},
		{2, []string{"0.1@update:7"}},
		{2, []string{"0.0@update:18"}}, // inside p = x + p/8
		{2, []string{"0.1@update:25"}}, // inside a push
		{3, []string{"0.0@update:10", "0.1@update:30"}},
		{3, []string{"0.0@section:5", "0.2@section:5"}},
		{3, []string{"0.1@task:16", "0.2@update:33"}},
		{4, []string{"0.0@update:27", "0.1@update:27", "0.3@task:13"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.replicas, tt.kills), func(t *testing.T) {
			got, report := survivors(t, intra.Spec{Replicas: tt.replicas}, rounds,
				intratest.Kills(tt.kills...), intratest.Sched("static"))
			require.Len(t, report.Deaths, len(tt.kills))
			require.NotEmpty(t, got)
			for _, s := range got {
				require.Equal(t, want, s)
			}
		})
	}
}

// A replica is killed in each transfer of an update in turn, and the update is received in
// each way. Without the snapshot some survivor computes a push from a torn state. So these
// tests detect a torn update.
func TestTornUpdates(t *testing.T) {
	const rounds = 1
	want := newState()
	want.serial(rounds)
	for _, receive := range []job.Receive{job.ReceiveStaged, job.ReceiveInPlace, job.ReceiveTorn} {
		t.Run([]string{"staged", "in place", "without snapshots"}[receive], func(t *testing.T) {
			wrong, tornUpdates := 0, int64(0)
			for k := range 32 {
				got, report := survivors(t, intra.Spec{Replicas: 2}, rounds, intratest.Sched("static"),
					intratest.Kills(fmt.Sprintf("0.1@update:%d", k)), intratest.Capacity(256),
					bridge.Receive(int(receive)).(intratest.Option))
				tornUpdates += report.Torn
				for _, s := range got {
					if !slices.Equal(s.p, want.p) || !slices.Equal(s.w, want.w) || s.dot != want.dot {
						wrong++
					}
				}
			}
			require.GreaterOrEqual(t, tornUpdates, int64(24), "all but the 8-byte updates are torn")
			if receive == job.ReceiveTorn {
				require.Positive(t, wrong)
			} else {
				require.Zero(t, wrong)
			}
		})
	}
}

func TestAllReplicasKilled(t *testing.T) {
	_, report := survivors(t, intra.Spec{Replicas: 2}, 2, intratest.Fails(),
		intratest.Kills("0.0@task:3", "0.1@task:9"))
	require.ErrorIs(t, report.Err, intra.ErrLost)
}

func TestSectionErrors(t *testing.T) {
	x := make([]float64, 10)
	launch := func(s *intra.Section, regions ...intra.Region) { s.Launch(taskBad, func() {}, regions...) }
	tests := []struct {
		name string
		run  func(p *intra.Process) error
		want string
	}{
		{"two tasks write the same memory", func(p *intra.Process) error {
			s := p.Section()
			launch(s, intra.Out("w", x[:6]))
			launch(s, intra.Out("w", x[5:]))
			return s.End()
		}, "out(w) of one and out(w) of the other share 8 bytes"},
		{"a task reads memory that another one writes", func(p *intra.Process) error {
			s := p.Section()
			launch(s, intra.In("x", x), intra.Out("w", make([]float64, 3)))
			launch(s, intra.InOut("w", x[2:4]))
			return s.End()
		}, "share 16 bytes"},
		{"pointers", func(p *intra.Process) error {
			s := p.Section()
			launch(s, intra.Out("names", []string{"a"}))
			return s.End()
		}, "type string holds pointers"},
		{"time", func(p *intra.Process) error {
			s := p.Section()
			now := time.Now()
			launch(s, intra.OutVar("now", &now))
			return s.End()
		}, "use UnixNano"},
		{"open twice", func(p *intra.Process) error {
			if p == nil {
				p = new(intra.Process)
			}
			p.Section()
			return p.Section().End()
		}, "a section is open already: the one opened at intra/section_test.go:"},
		{"ended twice", func(p *intra.Process) error {
			s := p.Section()
			if err := s.End(); err != nil {
				return err
			}
			return s.End()
		}, "ended before"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check := func(err error) {
				var se *intra.SectionError
				require.ErrorAs(t, err, &se)
				require.ErrorContains(t, err, tt.want)
				require.Contains(t, se.Pos, "intra/section_test.go:")
			}
			check(tt.run(nil))
			for replicas := 1; replicas <= 2; replicas++ {
				r := intratest.Run(t, intra.Spec{Replicas: replicas}, tt.run, intratest.Fails())
				check(r.Err)
			}
		})
	}
}

func TestReplicasThatDiverge(t *testing.T) {
	for name, run := range map[string]func(p *intra.Process) error{
		"a task of one replica only": func(p *intra.Process) error {
			s := p.Section()
			for i := range 4 + 4*p.Replica() {
				w := make([]float64, 9)
				s.Launch(taskBad, func() {}, intra.Out("w", w), intra.InVar("i", &i))
			}
			return s.End()
		},
		"another argument": func(p *intra.Process) error {
			s := p.Section()
			alpha := float64(p.Replica())
			for range 4 {
				s.Launch(taskBad, func() {}, intra.Out("w", make([]float64, 1)), intra.InVar("alpha", &alpha))
			}
			return s.End()
		},
		"a section of one replica only": func(p *intra.Process) error {
			for range 1 + p.Replica() {
				s := p.Section()
				s.Launch(taskBad, func() {}, intra.Out("w", make([]float64, 1)))
				if err := s.End(); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, capacity := range []int{0, 16} { // frames as a whole, and in pieces
				r := intratest.Run(t, intra.Spec{Replicas: 2}, run, intratest.Fails(), intratest.Capacity(capacity))
				require.ErrorIs(t, r.Err, intra.ErrDiverged)
			}
		})
	}
}

func TestPanicInATaskNamesKernelAndLaunch(t *testing.T) {
	r := intratest.Run(t, intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		s := p.Section()
		s.Launch(taskBad, func() { panic("out of plasma") })
		return s.End()
	}, intratest.Fails())
	var tp *intra.TaskPanic
	require.ErrorAs(t, r.Err, &tp)
	require.Equal(t, "test.bad", tp.Task)
	require.Contains(t, tp.Pos, "intra/section_test.go:")
	require.ErrorContains(t, r.Err, "out of plasma")
}

// A replica that fails is lost; its peer continues alone.
func TestOneReplicaFails(t *testing.T) {
	want := newState()
	want.serial(2)
	r := intratest.Run(t, intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		if p.Replica() == 0 {
			return fmt.Errorf("no licence for replica 0")
		}
		s := newState()
		err := s.program(p, 2)
		require.Equal(t, want, s)
		return err
	})
	require.Equal(t, []string{"0.0"}, r.Deaths)
}

// TestManyTasks: a section has a hundred thousand tasks that take almost no time. The cost
// per task must not depend on their number.
func TestManyTasks(t *testing.T) {
	const sections = 2
	for _, replicas := range []int{2, 3} {
		for _, policy := range []string{"static", "adaptive", "replicate"} {
			t.Run(fmt.Sprintf("%d/%s", replicas, policy), func(t *testing.T) {
				tasks := 10_000
				if !testing.Short() && replicas == 2 && policy == "adaptive" { // not under the race detector
					tasks = 100_000
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				ctx = job.WithLocal(ctx, &job.Local{Sched: policy, Share: true})
				err := intra.Run(ctx, intra.Spec{Replicas: replicas, Link: "shm"}, func(p *intra.Process) error {
					w, x := make([]float64, tasks), make([]float64, tasks)
					for n := range sections {
						s := p.Section()
						for i := range w {
							x[i] = float64(i + n)
							w, x := w[i:i+1], x[i:i+1]
							s.Launch(taskWaxpby, func() { waxpby(2, x, 3, x, w) }, intra.In("x", x), intra.Out("w", w))
						}
						if err := s.End(); err != nil {
							return err
						}
						for i := range w {
							if w[i] != 5*float64(i+n) {
								return fmt.Errorf("replica %d, section %d: w[%d] is %v", p.Replica(), n, i, w[i])
							}
						}
					}
					return nil
				})
				require.NoError(t, err)
			})
		}
	}
}
