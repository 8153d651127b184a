package intra_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// checked returns a job in checked mode.
func checked(replicas int) intra.Spec { return intra.Spec{Replicas: replicas, Check: true} }

func TestCheckedJobsHaveSerialMeaning(t *testing.T) {
	const rounds = 3
	want := newState()
	want.serial(rounds)
	for replicas := 1; replicas <= 3; replicas++ {
		for _, policy := range []string{"static", "adaptive"} {
			t.Run(fmt.Sprintf("%d %s", replicas, policy), func(t *testing.T) {
				got, report := survivors(t, checked(replicas), rounds, intratest.Sched(policy))
				require.Len(t, got, replicas)
				for _, s := range got {
					require.Equal(t, want, s)
				}
				require.Equal(t, int64(4*rounds*replicas), report.Sections)
				require.Equal(t, int64(4*rounds*16*replicas), report.Run, "every replica runs every task")
				require.Zero(t, report.Received)
			})
		}
	}
}

func TestCheckedReplicasDie(t *testing.T) {
	const rounds = 3
	want := newState()
	want.serial(rounds)
	for _, kills := range [][]string{
		{"0.0@section:0"}, {"0.1@section:5"}, {"0.0@task:0"}, {"0.1@task:100"},
		{"0.0@section:4", "0.2@task:130"}, {"0.0@task:17", "0.1@task:17"},
	} {
		t.Run(strings.Join(kills, " "), func(t *testing.T) {
			got, report := survivors(t, checked(3), rounds, intratest.Kills(kills...))
			require.Len(t, report.Deaths, len(kills))
			require.NotEmpty(t, got)
			for _, s := range got {
				require.Equal(t, want, s)
			}
		})
	}
}

func TestCheckedReplicasThatDiverge(t *testing.T) {
	const n = 320
	vector := func() []float64 { return make([]float64, n) }
	sum := func(a, b float64) float64 { return a + b }
	tests := []struct {
		name string
		run  func(p *intra.Process) error
		want []string
	}{
		{"an argument", func(p *intra.Process) error {
			x, w := vector(), vector()
			x[107] = float64(p.Replica())
			s := p.Section()
			for lo, hi := range intra.Blocks(n, 4) {
				s.Launch(taskBad, func() { copy(w[lo:hi], x[lo:hi]) }, intra.In("x", x[lo:hi]), intra.Out("w", w[lo:hi]))
			}
			return s.End()
		}, []string{"section 0, task 1", "at the entry of the section, in(x) of test.bad, launched at intra/check_test.go:", "elements 25 to 29"}},
		{"one element of a long vector", func(p *intra.Process) error {
			x := vector()
			x[50] = float64(p.Replica())
			s := p.Section()
			s.Launch(taskBad, func() {}, intra.In("x", x))
			return s.End()
		}, []string{"in(x)", "elements 40 to 59"}},
		{"a small argument", func(p *intra.Process) error {
			alpha := float64(p.Replica())
			s := p.Section()
			s.Launch(taskDot, func() {})
			s.Launch(taskBad, func() {}, intra.InVar("alpha", &alpha))
			return s.End()
		}, []string{"task 1", "in(alpha) of test.bad", "element 0"}},
		{"a result", func(p *intra.Process) error {
			w := vector()
			s := p.Section()
			s.Launch(taskBad, func() { w[13] = float64(p.Replica()) }, intra.Out("w", w[:16]))
			return s.End()
		}, []string{"task 0", "at its end, out(w) of test.bad", "has element 13 with hash"}},
		{"the result of a reduction", func(p *intra.Process) error {
			total := 0.0
			s := p.Section()
			cell, r := intra.Reduce(s, "total", &total, sum)
			s.Launch(taskBad, func() { *cell = float64(p.Replica()) }, r)
			return s.End()
		}, []string{"at its end, reduce(total) of test.bad"}},
		{"an element that is not written", func(p *intra.Process) error {
			w := vector()
			w[5] = float64(p.Replica())
			s := p.Section()
			s.Launch(taskBad, func() { w[0] = 1 }, intra.Out("w", w[:8]))
			return s.End()
		}, []string{"at its end, out(w) of test.bad", "has element 5 with hash"}},
		{"the number of tasks", func(p *intra.Process) error {
			s := p.Section()
			for range 2 + p.Replica()%2 {
				s.Launch(taskBad, func() {})
			}
			return s.End()
		}, []string{"section 0 with 2 tasks", "section 0 with 3 tasks"}},
		{"the kernel", func(p *intra.Process) error {
			s := p.Section()
			s.Launch([]*intra.Task{taskBad, taskPush}[p.Replica()%2], func() {})
			return s.End()
		}, []string{"task test.bad with 0 regions", "task test.push with 0 regions"}},
		{"the length of a region", func(p *intra.Process) error {
			s := p.Section()
			s.Launch(taskBad, func() {}, intra.In("x", vector()[:p.Replica()+1]))
			return s.End()
		}, []string{"in(x) of test.bad has"}},
		{"the number of sections", func(p *intra.Process) error {
			for range 1 + p.Replica() {
				s := p.Section()
				s.Launch(taskBad, func() {})
				if err := s.End(); err != nil {
					return err
				}
			}
			return nil
		}, []string{"section 1"}},
		{"a section here, Once there", func(p *intra.Process) error {
			if p.Replica() == 0 {
				_, err := intra.OnceBytes(p, func() ([]byte, error) { return []byte("hello"), nil })
				return err
			}
			s := p.Section()
			s.Launch(taskBad, func() {})
			return s.End()
		}, []string{"diverged"}},
	}
	for _, tt := range tests {
		for _, replicas := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s %d", tt.name, replicas), func(t *testing.T) {
				r := intratest.Run(t, checked(replicas), tt.run, intratest.Fails())
				require.ErrorIs(t, r.Err, intra.ErrDiverged)
				for _, want := range tt.want {
					require.ErrorContains(t, r.Err, want)
				}
			})
		}
	}
}

// padded has padding between its fields.
type padded struct {
	A int8
	B int64
}

func TestPaddingIsNoDivergence(t *testing.T) {
	intratest.Run(t, checked(2), func(p *intra.Process) error {
		raw := make([]padded, 3)
		b := intra.In("raw", raw).Mem
		for i := range b {
			b[i] = byte(p.Replica()) // the fields B and A are written below
		}
		for i := range raw {
			raw[i].A, raw[i].B = 1, 2
		}
		s := p.Section()
		s.Launch(taskBad, func() { raw[1].B++ }, intra.InOut("raw", raw))
		return s.End()
	})
}

func TestFindingEndsTheJob(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		for _, swallowed := range []bool{false, true} {
			t.Run(fmt.Sprint(replicas, swallowed), func(t *testing.T) {
				r := intratest.Run(t, checked(replicas), func(p *intra.Process) error {
					w := make([]float64, 20)
					s := p.Section()
					s.Launch(taskBad, func() { w[4]++ }, intra.Out("w", w))
					err := s.End()
					var se *intra.SectionError
					require.ErrorAs(t, err, &se)
					require.Contains(t, se.Pos, "intra/check_test.go:")
					if swallowed {
						require.Error(t, p.Section().End(), "every section fails from now on")
						return nil
					}
					return err
				}, intratest.Fails())
				var found *intra.CheckError
				require.ErrorAs(t, r.Err, &found)
				require.Len(t, found.Findings, 1)
				require.Equal(t, "out(w)", found.Findings[0].Argument)
				require.Equal(t, 4, found.Findings[0].Element)
				require.NotErrorIs(t, r.Err, intra.ErrDiverged)
			})
		}
	}
}

func TestPanicInACheckedTask(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		r := intratest.Run(t, checked(replicas), func(p *intra.Process) error {
			s := p.Section()
			s.Launch(taskBad, func() { panic("out of plasma") })
			return s.End()
		}, intratest.Fails())
		var tp *intra.TaskPanic
		require.ErrorAs(t, r.Err, &tp)
		require.Equal(t, "test.bad", tp.Task)
	}
}

func TestWatchWithoutChecks(t *testing.T) {
	x := 1.0
	for _, p := range []*intra.Process{nil, new(intra.Process)} {
		s := p.Section(intra.Watch(intra.InVar("x", &x)))
		s.Launch(taskBad, func() { x++ })
		require.NoError(t, s.End())
	}
	require.Equal(t, 3.0, x)
}

// Once and sections may alternate in checked mode. Checked mode itself uses the protocol of
// Once.
func TestOnceBetweenCheckedSections(t *testing.T) {
	var all [3][]int
	intratest.Run(t, checked(3), func(p *intra.Process) error {
		for k := range 10 {
			s := p.Section()
			s.Launch(taskBad, func() {})
			if err := s.End(); err != nil {
				return err
			}
			v, err := intra.Once(p, func() (int, error) { return 10*k + p.Replica(), nil })
			if err != nil {
				return err
			}
			all[p.Replica()] = append(all[p.Replica()], v)
		}
		return nil
	})
	require.Len(t, all[0], 10)
	require.True(t, slices.Equal(all[0], all[1]) && slices.Equal(all[0], all[2]))
}

// BenchmarkChecked compares a section of 64 Ki elements with and without checks, on a rank
// without replication and on a pair.
func BenchmarkChecked(b *testing.B) {
	const n = 64 << 10
	x, y := make([]float64, n), make([]float64, n)
	for _, replicas := range []int{1, 2} {
		for _, check := range []bool{false, true} {
			b.Run(fmt.Sprintf("replicas=%d/check=%v", replicas, check), func(b *testing.B) {
				err := intra.Run(b.Context(), intra.Spec{Replicas: replicas, Check: check}, func(p *intra.Process) error {
					st := state{x: x, y: y, w: make([]float64, n)}
					for range b.N {
						s := p.Section()
						for lo, hi := range intra.Blocks(n, p.Tasks()) {
							st.launchWaxpby(s, 2, x[lo:hi], 3, y[lo:hi], st.w[lo:hi])
						}
						if err := s.End(); err != nil {
							return err
						}
					}
					return nil
				})
				require.NoError(b, err)
			})
		}
	}
}
