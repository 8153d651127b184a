package vary

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/update"
)

func variable(name string, t reflect.Type, mem []byte) checkpoint.Variable {
	return checkpoint.Variable{Name: name, Type: t, Mem: mem}
}

// walk makes recorders of two ranks pass safe points. At each, x and n are registered with
// the values of at, and at also gives the number of sections before it.
func walk(t *testing.T, run Run, points int, at func(rank, point int) (x []float64, sections uint64)) {
	for rank := range 2 {
		r := &Recorder{run: run, rank: rank, ranks: 2}
		for point := 1; point <= points; point++ {
			x, sections := at(rank, point)
			r.sections = sections
			r.Ran(0, []update.Region{update.Slice(update.Out, "x", x)})
			n := []int{point}
			require.NoError(t, r.Pass(uint64(point), []checkpoint.Variable{
				variable("x", reflect.TypeFor[float64](), memory(x)), variable("n", reflect.TypeFor[int](), memory(n)), variable("seal", nil, []byte("seal"))}))
		}
	}
}

// spent runs the sets and judges them.
func spent(t *testing.T, run Run, sets ...func()) *Result {
	var all []Outcome
	for i, set := range sets {
		set()
		r, err := Read(run.Dir, i)
		require.NoError(t, err)
		all = append(all, Outcome{Records: r, Held: i, Printed: []byte("pass 1\nresidual = 0.125\n")})
	}
	all[1].Printed = []byte("pass 1\nresidual = 0.125125\n")
	result, err := Judge(run, all[0], all[1:])
	require.NoError(t, err)
	return result
}

// TestJudge lets a known difference grow by a known factor, and requires both in the
// report.
func TestJudge(t *testing.T) {
	for _, every := range []uint64{1, 3} {
		run := Run{Spec: Spec{Sets: 3, Every: every, Size: 1 << 20}, Seed: 5, Dir: t.TempDir()}
		set := func(number int, from, factor float64, points int) func() {
			of := run
			of.Set = number
			return func() {
				walk(t, of, points, func(rank, point int) ([]float64, uint64) {
					x := []float64{3, 1, 1}
					if rank == 1 { // rank 1 has its largest number at another index
						x = []float64{10 + from*math.Pow(factor, float64(point-1)), 5}
					}
					if number == 2 && rank == 1 && point >= 9 {
						return x, uint64(4*point) + 1
					}
					return x, uint64(4 * point)
				})
			}
		}
		r := spent(t, run, set(0, 0, 1, 10), set(1, 1e-9, 2, 10), set(2, 1e-12, 10, 11))
		require.Equal(t, 10, r.SafePoints)
		require.Len(t, r.Variables, 3)
		require.Equal(t, []string{"x", "n", "seal"}, []string{r.Variables[0].Name, r.Variables[1].Name, r.Variables[2].Name})

		first, second := r.Sets[0], r.Sets[1]
		x := first.Variables[0]
		require.Equal(t, int64(5), x.Numbers)
		require.InDelta(t, 2, x.Growth, 1e-3)
		require.InDelta(t, 10-9*math.Log10(2), *x.Digits, 1e-3)
		require.InDelta(t, *x.Digits+(math.Log10(9+1+1+100+25)-2)/2, *x.MeanDigits, 1e-3)
		require.Equal(t, *x.Digits, *x.Least)
		require.Len(t, x.Course, (9+int(every))/int(every))
		require.Equal(t, Step{SafePoint: 1, Digits: x.Course[0].Digits}, x.Course[0])
		require.InDelta(t, 10, x.Course[0].Digits, 1e-3)
		require.Nil(t, first.Apart)
		require.Nil(t, first.Variables[1].Digits)

		x = second.Variables[0]
		require.InDelta(t, 10, x.Growth, 0.01)
		require.InDelta(t, 4, *x.Digits, 0.01)
		require.Equal(t, &Apart{Rank: 1, SafePoint: 9, Sections: 37, Undisturbed: 36}, second.Apart)
		require.Equal(t, 11, second.SafePoints)
		require.Equal(t, 2, r.Variables[0].Set, "the worst")

		var text strings.Builder
		require.NoError(t, r.Print(&text))
		require.Regexp(t, `x +5 +4.0 +4.\d +4.0 +10 +2 *\n`, text.String())
		require.Regexp(t, `n +0 +- +- +- +- +1 +same\n`, text.String())
		require.Contains(t, text.String(), "set 1: 0 numbers disturbed, processes held 1 times; the same sections and safe points; 1 of 2 printed lines differ, the first is line 2, with 3.0 digits\n")
		require.Contains(t, text.String(), "set 2: 0 numbers disturbed, processes held 2 times; apart since safe point 9 of rank 1, with 37 sections before it, not 36; the same 2 lines printed\n")
	}
}

// TestApart lets sets reach fewer or more safe points than the undisturbed set.
func TestApart(t *testing.T) {
	points := func(n int) (all []Record) {
		for i := range n {
			all = append(all, Record{Point: uint64(i + 1), Sections: uint64(i)})
		}
		return all
	}
	two := Records{points(4), points(4)}
	require.Nil(t, firstApart(two, two))
	require.Equal(t, &Apart{Rank: 1, SafePoint: 4, Sections: -1, Undisturbed: 3}, firstApart(two, Records{points(4), points(3)}))
	a := firstApart(two, Records{points(6), points(5)})
	require.Equal(t, &Apart{Rank: 0, SafePoint: 5, Sections: 4, Undisturbed: -1}, a)
	require.Contains(t, a.String(), "comes to safe point 5 of rank 0, unlike")
	require.Contains(t, firstApart(two, Records{nil, nil}).String(), "does not come to safe point 1 of rank 0")
}

// TestRecorder requires that the recorder describes each error.
func TestRecorder(t *testing.T) {
	x, n := ones(100), []int{1}
	vars := []checkpoint.Variable{variable("x", reflect.TypeFor[float64](), memory(x)), variable("n", reflect.TypeFor[int](), memory(n))}
	base := Run{Spec: Spec{Sets: 2, Bits: 1, Every: 1, Size: 1600}, Dir: t.TempDir()}
	pass := func(spec Spec, set int, vars []checkpoint.Variable) error {
		run := base
		run.Spec, run.Set = spec, set
		return (&Recorder{run: run, ranks: 1}).Pass(1, vars)
	}
	require.ErrorIs(t, pass(base.Spec, 0, nil), ErrNothing)
	require.NoError(t, pass(base.Spec, 0, vars))
	require.NoError(t, pass(base.Spec, 1, vars))
	require.ErrorContains(t, pass(base.Spec, 1, vars[:1]), "has registered 1 variables and the undisturbed one 2")
	require.ErrorContains(t, pass(base.Spec, 1, []checkpoint.Variable{vars[1], vars[0]}), `has registered "n" where the undisturbed one has "x"`)

	for _, set := range []int{0, 1} {
		named := base.Spec
		named.State = []Disturbance{{Name: "y", Eps: 1e-3}}
		require.ErrorContains(t, pass(named, set, vars), `rank 0 has registered no variable of that name, but ["x" "n"]`)
		named.State[0].Name = "n"
		require.ErrorContains(t, pass(named, set, vars), "-state n=EPS: that variable has no floating-point numbers")
	}

	r := &Recorder{run: base, ranks: 1}
	require.NoError(t, r.Pass(1, vars))
	require.ErrorContains(t, r.Pass(2, vars), "more than the 1600 bytes of a rank: compare fewer safe points (-every N)")

	require.NoError(t, os.RemoveAll(base.Dir))
	require.ErrorContains(t, pass(base.Spec, 0, vars), "keep what safe points show")
}

// TestBrokenOff truncates the last record, as if its process was killed while writing it.
func TestBrokenOff(t *testing.T) {
	run := Run{Spec: Spec{Sets: 2, Bits: 1, Every: 1, Size: 1 << 20}, Dir: t.TempDir()}
	walk(t, run, 5, func(_, point int) ([]float64, uint64) { return ones(3), uint64(point) })
	name := recordName(run.Dir, 0, "1")
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, b[:len(b)-3], 0o600))
	all, err := Read(run.Dir, 0)
	require.NoError(t, err)
	require.Len(t, all[0], 5)
	require.Len(t, all[1], 4)
	require.Len(t, all, 2)
	require.NoError(t, os.WriteFile(name, append([]byte{3, 1, 2, 3}, b...), 0o600))
	_, err = Read(run.Dir, 0)
	require.Error(t, err)
}

// A process reads the disturbance from its environment. All replicas of a rank are
// disturbed alike, and only the first one records.
func TestAttach(t *testing.T) {
	t.Setenv(Variable, "")
	r, err := Attach(0, 0, 1)
	require.NoError(t, err)
	require.Nil(t, r)
	t.Setenv(Variable, `{"sets":2,"order":true,"set":1}`)
	first, err := Attach(1, 0, 2)
	require.NoError(t, err)
	second, err := Attach(1, 1, 2)
	require.NoError(t, err)
	require.False(t, first.silent)
	require.True(t, second.silent)
	require.Equal(t, first.Ended()(9), second.Ended()(9), "both are disturbed alike")
	t.Setenv(Variable, "bits=1")
	_, err = Attach(0, 0, 1)
	require.ErrorContains(t, err, "read INTRA_VARY in the environment, which intravary sets")
}

// Judge returns an error for sets without records, with other numbers of ranks, or without
// any disturbance.
func TestNothingToJudge(t *testing.T) {
	some := Records{{{Ranks: 1, Point: 1}}}
	for _, c := range []struct {
		undisturbed, disturbed Records
		want                   string
	}{
		{nil, some, "no safe point"},
		{Records{some[0], nil}, some, "no safe point"},
		{some, some, "nothing was disturbed in set 1"},
		{some, Records{some[0], some[0]}, "set 1 has 2 ranks and the undisturbed one 1"},
	} {
		_, err := Judge(Run{}, Outcome{Records: c.undisturbed}, []Outcome{{Records: c.disturbed}})
		require.ErrorContains(t, err, c.want)
	}
	r, err := Judge(Run{}, Outcome{Records: some}, []Outcome{{ExitCode: 3}})
	require.NoError(t, err)
	require.Equal(t, &Apart{SafePoint: 1, Sections: -1}, r.Sets[0].Apart)
}

// Printed lines are compared number by number.
func TestPrinted(t *testing.T) {
	digits := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		was, is string
		want    Printed
	}{
		{"", "", Printed{}},
		{"a 1\n", "a 1\n", Printed{Lines: 1}},
		{"a 1\nx = 1000, y = 2\n", "a 1\nx = 1001, y = 2\nb\n", Printed{Lines: 2, Differ: 2, First: 2, Digits: digits(3)}},
		{"a 1 s\n", "b 2 s\n", Printed{Lines: 1, Differ: 1, First: 1}},
		{"a\nb\n", "a\n", Printed{Lines: 2, Differ: 1, First: 2}},
		{"a  1\n", "a 1\n", Printed{Lines: 1, Differ: 1, First: 1}},
	} {
		got := comparePrinted([]byte(c.was), []byte(c.is))
		if c.want.Digits != nil {
			require.InDelta(t, *c.want.Digits, *got.Digits, 1e-9)
			got.Digits = c.want.Digits
		}
		require.Equal(t, c.want, got, "%q %q", c.was, c.is)
	}
}
