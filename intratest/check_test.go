package intratest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

var (
	taskKernel = intra.Register("test.kernel")
	taskOther  = intra.Register("test.other")
)

// particle has padding and fields of several kinds.
type particle struct {
	Alive  bool
	X, V   float64
	Cell   [2]int32
	Charge int8
	Weight complex64
}

func numbers(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = math.Sqrt(float64(i + 2))
	}
	return s
}

// hidden is a package variable.
var hidden [8]float64

// Every kernel in this test is wrong, and Check finds the fault with a helpful text.
func TestCheckFinds(t *testing.T) {
	const n = 40
	// memory of the case that runs
	var x, y, w, tmp []float64
	var idx []int
	var ps []particle
	var flags []bool
	tests := []struct {
		name   string
		launch func(s *intra.Section)
		opts   []intratest.CheckOption
		want   string // text of the only finding
		elem   int
	}{
		{"out is accumulated", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[17] += x[0] }, intra.In("x", x), intra.Out("w", w))
		}, nil, "out(w) element 17 is read before it is written: make it inout(w)", 17},
		{"out is read for another element", func(s *intra.Section) {
			s.Launch(taskKernel, func() {
				last := w[n-1]
				for i := range w {
					w[i] = x[i] + last
				}
			}, intra.In("x", x), intra.Out("w", w))
		}, nil, "out(w) element 39 is read before it is written: make it inout(w)", n - 1},
		{"out decides a branch", func(s *intra.Section) {
			s.Launch(taskKernel, func() {
				if w[5] > 0 {
					w[0] = 1
				} else {
					w[0] = 2
				}
			}, intra.Out("w", w))
		}, nil, "out(w) element 5 is read before it is written", 5},
		{"out is clamped", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[3] = max(w[3], 0) }, intra.Out("w", w))
		}, nil, "out(w) element 3 is read before it is written", 3},
		{"out is shifted", func(s *intra.Section) {
			s.Launch(taskKernel, func() { copy(w, w[1:]) }, intra.Out("w", w))
		}, nil, "is read before it is written: make it inout(w)", -2},
		{"two elements of out are swapped", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[4], w[9] = w[9], w[4] }, intra.Out("w", w))
		}, nil, "is read before it is written: make it inout(w)", -2},
		{"a tiny term is added to out", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[2] += 1e-300 }, intra.Out("w", w))
		}, nil, "out(w) element 2 is read before it is written", 2},
		{"out is NaN and is read", func(s *intra.Section) {
			w[6] = math.NaN()
			s.Launch(taskKernel, func() { w[6] *= 2 }, intra.Out("w", w))
		}, nil, "out(w) element 6 is read before it is written", 6},
		{"out holds indices", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[idx[7]] = 1; idx[7] = 0 }, intra.Out("idx", idx), intra.Out("w", w))
		}, nil, "out(idx) element 7 is read before it is written: make it inout(idx) (with other contents the body panics: runtime error: index out of range", 7},
		{"out holds flags", func(s *intra.Section) {
			s.Launch(taskKernel, func() { flags[1] = !flags[1] }, intra.Out("flags", flags))
		}, nil, "out(flags) element 1 is read before it is written", 1},
		{"a field of out is read", func(s *intra.Section) {
			s.Launch(taskKernel, func() {
				for i := range ps {
					ps[i].X += 1
				}
			}, intra.Out("ps", ps))
		}, nil, "is read before it is written: make it inout(ps)", -2},
		{"scratch is read", func(s *intra.Section) {
			s.Launch(taskKernel, func() {
				for i := range w {
					w[i] = tmp[i]
				}
			}, intra.Out("w", w), intra.Scratch("tmp", tmp))
		}, nil, "is read before it is written: make it inout(tmp) or write it first", -2},
		{"one element of scratch is read", func(s *intra.Section) {
			s.Launch(taskKernel, func() { y[0] += tmp[11] }, intra.InOut("y", y), intra.Scratch("tmp", tmp))
		}, nil, "scratch(tmp) element 11 is read before it is written", 11},
		{"in is written", func(s *intra.Section) {
			s.Launch(taskKernel, func() {
				copy(w, x)
				x[12] = 0
			}, intra.In("x", x), intra.Out("w", w))
		}, nil, "in(x) element 12 is written by the body: move it to inout(x)", 12},
		{"in is scaled, and its results follow", func(s *intra.Section) {
			s.Launch(taskKernel, func() {
				for i := range x {
					x[i] *= 2
					w[i] = x[i]
				}
			}, intra.In("x", x), intra.Out("w", w))
		}, nil, "in(x) element 0 is written by the body", 0},
		{"in is NaN and is overwritten by another NaN", func(s *intra.Section) {
			x[1] = math.NaN()
			s.Launch(taskKernel, func() { x[1] = math.Float64frombits(math.Float64bits(x[1]) + 1) }, intra.In("x", x))
		}, nil, "in(x) element 1 is written by the body", 1},
		{"an argument is written after the launch", func(s *intra.Section) {
			s.Launch(taskKernel, func() { copy(w, x) }, intra.In("x", x), intra.Out("w", w))
			x[20] = 1
		}, nil, "in(x) element 20 was written between the launch and the end of the section", 20},
		{"an argument is written between two launches", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[0] = x[3] }, intra.In("x", x), intra.Out("w", w[:1]))
			x[3] = 7
			s.Launch(taskKernel, func() { w[1] = x[3] }, intra.In("x", x), intra.Out("w", w[1:2]))
		}, nil, "in(x) element 3 was written between the launch", 3},
		{"a result is written after the launch", func(s *intra.Section) {
			s.Launch(taskKernel, func() { copy(w, x) }, intra.In("x", x), intra.Out("w", w))
			w[8] = 1
		}, nil, "out(w) element 8 was written between the launch", 8},
		{"a scalar argument changes", func(s *intra.Section) {
			k := 3
			s.Launch(taskKernel, func() { w[k] = 1 }, intra.InVar("k", &k), intra.Out("w", w))
			k++
		}, nil, "in(k) element 0 was written between the launch", 0},
		{"the body writes outside of its block", func(s *intra.Section) {
			for lo, hi := range intra.Blocks(n, 4) {
				s.Launch(taskKernel, func() {
					for i := lo; i < min(hi+1, n); i++ {
						w[i] = 1
					}
				}, intra.Out("w", w[lo:hi]))
			}
		}, nil, "the body writes element 0 of out(w) of task 1 (test.kernel, launched at intratest/check_test.go:", 0},
		{"memory of a later task is written", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[0], y[2] = 1, 1 }, intra.Out("w", w))
			s.Launch(taskOther, func() { y[2] = 2 }, intra.Out("y", y))
		}, nil, "the body writes element 2 of out(y) of task 1 (test.other", 2},
		{"memory that another task reads is written", func(s *intra.Section) {
			s.Launch(taskOther, func() { y[0] = x[1] }, intra.In("x", x), intra.Out("y", y))
			s.Launch(taskKernel, func() { w[0], x[1] = 1, 5 }, intra.Out("w", w))
		}, nil, "the body writes element 1 of in(x) of task 0 (test.other", 1},
		{"a package variable is written", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[0], hidden[3] = 1, hidden[3]+1 }, intra.Out("w", w))
		}, []intratest.CheckOption{intratest.Watch("hidden", &hidden)},
			"hidden element 0 is written by the body, and no clause names it: make it a parameter in inout(hidden)", 0},
		{"a slice that no clause names is written", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[0], hidden[3] = 1, hidden[3]+1 }, intra.Out("w", w))
		}, []intratest.CheckOption{intratest.WatchSlice("hidden", hidden[:])}, "hidden element 3 is written by the body", 3},
		{"the random source of the process", func(s *intra.Section) {
			s.Launch(taskKernel, func() { w[2] = rand.Float64() }, intra.Out("w", w))
		}, nil, "out(w) element 2 differs between two runs from the same state: compute from the arguments only", 2},
		{"the time", func(s *intra.Section) {
			s.Launch(taskKernel, func() { y[1] += float64(time.Now().UnixNano() & 0xffffff) }, intra.InOut("y", y))
		}, nil, "inout(y) element 1 differs between two runs", 1},
		{"state kept from call to call", func(s *intra.Section) {
			s.Launch(taskKernel, func() { hidden[0]++; ps[2].V = hidden[0] }, intra.Out("ps", ps))
		}, nil, "out(ps) element 2 (V) differs between two runs", 2},
		{"the order of a map", func(s *intra.Section) {
			m := make(map[int]float64)
			for i := range 1000 {
				m[i] = 1 / float64(i+1)
			}
			for range 4 { // several times, because a random choice may repeat itself
				cell, r := intra.Reduce(s, "sum", &y[0], func(a, b float64) float64 { return a + b })
				s.Launch(taskKernel, func() {
					*cell = 0
					for _, v := range m {
						*cell = *cell/3 + v
					}
				}, r)
			}
		}, nil, "reduce(sum) element 0 differs between two runs", 0},
		{"a second run panics", func(s *intra.Section) {
			calls := 0
			s.Launch(taskKernel, func() {
				if calls++; calls > 1 {
					panic("only once")
				}
			}, intra.InOut("y", y))
		}, nil, "panicked (only once)", -1},
	}
	require.GreaterOrEqual(t, len(tests), 30)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, y, w, tmp = numbers(n), numbers(n), make([]float64, n), make([]float64, n)
			idx, ps, flags = make([]int, n), make([]particle, n), make([]bool, n)
			found, err := intratest.Findings(tt.launch, tt.opts...)
			require.NoError(t, err)
			require.Len(t, found, 1, "%v", found)
			f := found[0]
			require.Contains(t, f.String(), tt.want)
			require.Equal(t, "test.kernel", f.Task)
			require.Contains(t, f.Pos, "intratest/check_test.go:")
			require.True(t, strings.HasPrefix(f.String(), f.Pos+": task test.kernel: "))
			if tt.elem > -2 {
				require.Equal(t, tt.elem, f.Element)
			}
		})
	}
}

// Check accepts correct kernels without a finding. The results are those of a run without
// checks.
func TestCheckAccepts(t *testing.T) {
	const n, tasks = 100, 7
	type memory struct {
		x, y, w []float64
		grid    [2][][]float64
		ps      []particle
		idx     []int32
		sum     float64
		gen     rand.PCG
	}
	fresh := func() *memory {
		m := &memory{x: numbers(n), y: numbers(n), w: make([]float64, n), ps: make([]particle, n), idx: make([]int32, n)}
		for i := range m.grid {
			for j := range 12 {
				m.grid[i] = append(m.grid[i], numbers(10+i))
				m.grid[i][j][0] = float64(j)
			}
		}
		for i := range m.ps {
			m.ps[i] = particle{Alive: i%3 > 0, X: float64(i), V: 1 / float64(i+1), Cell: [2]int32{int32(i), 1}}
		}
		m.w[3], m.x[7] = math.NaN(), math.NaN()
		m.gen = *rand.NewPCG(1, 2)
		return m
	}
	tests := map[string]func(s *intra.Section, m *memory){
		"waxpby": func(s *intra.Section, m *memory) {
			for lo, hi := range intra.Blocks(n, tasks) {
				alpha, x, y, w := 2.0, m.x[lo:hi], m.y[lo:hi], m.w[lo:hi]
				s.Launch(taskKernel, func() {
					for i := range w {
						w[i] = float64(alpha*x[i]) + y[i]
					}
				}, intra.InVar("alpha", &alpha), intra.In("x", x), intra.In("y", y), intra.Out("w", w))
			}
		},
		"ddot": func(s *intra.Section, m *memory) {
			for lo, hi := range intra.Blocks(n, tasks) {
				x, y := m.y[lo:hi], m.y[lo:hi]
				cell, r := intra.Reduce(s, "sum", &m.sum, func(a, b float64) float64 { return a + b })
				s.Launch(taskKernel, func() {
					sum := 0.0
					for i := range x {
						sum += float64(x[i] * y[i])
					}
					*cell = sum
				}, intra.In("x", x), intra.In("y", y), r)
			}
		},
		"p = r + beta·p": func(s *intra.Section, m *memory) {
			for lo, hi := range intra.Blocks(n, tasks) {
				r, p := m.x[lo:hi], m.y[lo:hi]
				s.Launch(taskKernel, func() {
					for i := range p {
						p[i] = r[i] + float64(0.5*p[i])
					}
				}, intra.In("r", r), intra.In("p", p), intra.Out("w", p))
			}
		},
		"the whole vector is read, a block written": func(s *intra.Section, m *memory) {
			for lo, hi := range intra.Blocks(n, tasks) {
				s.Launch(taskKernel, func() {
					for i := lo; i < hi; i++ {
						m.w[i] = m.y[n-1-i]
					}
				}, intra.InVar("lo", &lo), intra.In("y", m.y), intra.Out("w", m.w[lo:hi]))
			}
		},
		"Jacobi does not write the boundary columns": func(s *intra.Section, m *memory) {
			from, to := m.grid[0], m.grid[1]
			for j := 1; j < 11; j++ {
				s.Launch(taskKernel, func() {
					for i := 1; i < 9; i++ {
						to[j][i] = (from[j][i-1] + from[j][i+1] + from[j-1][i] + from[j+1][i]) / 4
					}
				}, intra.In("up", from[j-1]), intra.In("row", from[j]), intra.In("down", from[j+1]), intra.Out("to", to[j]))
			}
		},
		"Monte Carlo with its own generator": func(s *intra.Section, m *memory) {
			for seed := range uint64(tasks) {
				cell, r := intra.Reduce(s, "hits", &m.sum, func(a, b float64) float64 { return a + b })
				s.Launch(taskKernel, func() {
					g := rand.New(rand.NewPCG(seed, 17))
					hits := 0
					for range 1000 {
						if x, y := g.Float64(), g.Float64(); float64(x*x)+float64(y*y) < 1 {
							hits++
						}
					}
					*cell = float64(hits)
				}, intra.InVar("seed", &seed), r)
			}
		},
		"a generator that continues": func(s *intra.Section, m *memory) {
			s.Launch(taskKernel, func() {
				for i := range m.w {
					m.w[i] = float64(m.gen.Uint64() >> 11)
				}
			}, intra.InOutVar("gen", &m.gen), intra.Out("w", m.w))
		},
		"particles are pushed": func(s *intra.Section, m *memory) {
			for lo, hi := range intra.Blocks(n, tasks) {
				ps := m.ps[lo:hi]
				s.Launch(taskKernel, func() {
					for i := range ps {
						ps[i].X += float64(ps[i].V * 0.1)
						ps[i].Cell[0] = int32(ps[i].X)
					}
				}, intra.In("field", m.x), intra.InOut("ps", ps))
			}
		},
		"some fields of some particles are written": func(s *intra.Section, m *memory) {
			s.Launch(taskKernel, func() {
				for i := 0; i < n; i += 3 {
					m.ps[i].V, m.ps[i].Cell[1], m.ps[i].Alive = m.x[i], 5, true
				}
			}, intra.In("x", m.x), intra.Out("ps", m.ps))
		},
		"whole particles are written": func(s *intra.Section, m *memory) {
			s.Launch(taskKernel, func() {
				for i := range m.ps {
					m.ps[i] = particle{X: m.y[i], Charge: -1}
				}
			}, intra.In("y", m.y), intra.Out("ps", m.ps))
		},
		"indices are written, then used": func(s *intra.Section, m *memory) {
			s.Launch(taskKernel, func() {
				for i := range m.idx {
					m.idx[i] = int32(n - 1 - i)
				}
				for i := range m.w {
					m.w[i] = m.y[m.idx[i]]
				}
			}, intra.In("y", m.y), intra.Scratch("idx", m.idx), intra.Out("w", m.w))
		},
		"out is given its own value": func(s *intra.Section, m *memory) {
			s.Launch(taskKernel, func() { m.w[0], m.w[1] = 0, math.NaN() }, intra.Out("w", m.w))
		},
		"nothing is named": func(s *intra.Section, m *memory) {
			s.Launch(taskKernel, func() {})
			s.Launch(taskKernel, func() {}, intra.Out("w", m.w[:0]), intra.Out("none", []struct{}{{}}))
		},
	}
	for name, launch := range tests {
		t.Run(name, func(t *testing.T) {
			want, got := fresh(), fresh()
			s := (*intra.Process)(nil).Section()
			launch(s, want)
			require.NoError(t, s.End())

			scratch := got.idx
			intratest.Check(t, func(s *intra.Section) { launch(s, got) }, intratest.Watch("hidden", &hidden))
			if name == "indices are written, then used" { // scratch has no meaning after the section
				require.NotEqual(t, want.idx, scratch)
				want.idx, got.idx = nil, nil
			}
			require.Equal(t, fmt.Sprintf("%v", want), fmt.Sprintf("%v", got)) // NaN equals NaN
		})
	}
}

func TestCheckReportsOtherErrors(t *testing.T) {
	x := numbers(10)
	for want, launch := range map[string]func(s *intra.Section){
		"share 8 bytes": func(s *intra.Section) {
			s.Launch(taskKernel, func() {}, intra.Out("w", x[:6]))
			s.Launch(taskKernel, func() {}, intra.Out("w", x[5:]))
		},
		"out of plasma": func(s *intra.Section) { s.Launch(taskKernel, func() { panic("out of plasma") }) },
		"holds pointers": func(s *intra.Section) {
			s.Launch(taskKernel, func() {}, intra.Out("names", []string{"a"}))
		},
	} {
		found, err := intratest.Findings(launch)
		require.Empty(t, found)
		require.ErrorContains(t, err, want)
	}
	name := "a pointer"
	_, err := intratest.Findings(func(*intra.Section) {}, intratest.Watch("name", &name))
	require.ErrorContains(t, err, "in(name): type string holds pointers")
}

// failures counts the failures of a test.
type failures struct {
	testing.TB
	all []string
}

func (f *failures) Helper()           {}
func (f *failures) Error(args ...any) { f.all = append(f.all, fmt.Sprint(args...)) }

func TestCheckFailsTheTestWithEachFinding(t *testing.T) {
	x, w := numbers(10), make([]float64, 10)
	f := &failures{TB: t}
	intratest.Check(f, func(s *intra.Section) {
		for lo, hi := range intra.Blocks(10, 5) {
			s.Launch(taskKernel, func() { w[lo]++ }, intra.In("x", x), intra.Out("w", w[lo:hi]))
		}
		s.Launch(taskOther, func() { x[0]++ }, intra.In("x", x))
	})
	require.Len(t, f.all, 2)
	require.Contains(t, f.all[0], "test.other: in(x) element 0 is written")
	require.Contains(t, f.all[1], "test.kernel: out(w) element 0 is read")
	intratest.Check(f, func(s *intra.Section) { s.Launch(taskKernel, func() { panic("boom") }) })
	require.Len(t, f.all, 3)
}
