package figures

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/intrahpc/intra/internal/vary"
)

// digits returns results for two variables, one of which has no digits.
func digits() *vary.Result {
	end := 5.0
	course := func(name string, set int, digits ...float64) vary.Variance {
		v := vary.Variance{Name: name, Set: set, Digits: &end}
		for i, d := range digits {
			v.Course = append(v.Course, vary.Step{SafePoint: uint64(i + 1), Digits: d})
		}
		return v
	}
	return &vary.Result{Spec: "sets=3,bits=0.01", Variables: []vary.Variance{{Name: "x", Set: 2, Digits: &end}, {Name: "n", Set: 1}},
		Sets: []vary.Set{
			{Set: 1, Variables: []vary.Variance{course("x", 1, 15, 14, 13), {Name: "n", Set: 1}}},
			{Set: 2, Variables: []vary.Variance{course("x", 2, 15, 10, 5), {Name: "n", Set: 2}}, Apart: &vary.Apart{SafePoint: 3}},
		}}
}

// TestPlotVary requires a line for each variable with digits, drawn for its worst set. It also
// requires the name of the set that takes another course.
func TestPlotVary(t *testing.T) {
	r := digits()
	x, err := varyPlot(r)
	require.NoError(t, err)
	at := texts(x)
	require.Contains(t, at, "x, set 2: 5.0 digits at the end")
	require.Contains(t, at, "WARNING: set 2 goes another way from safe point 3 on")
	require.Contains(t, at, "significant digits")
	require.Equal(t, 5.0, courseOf(r, r.Variables[0])[2].Digits)
	require.Equal(t, []float64{1, 3, 0, 15}, []float64{x.plot.X.Min, x.plot.X.Max, x.plot.Y.Min, x.plot.Y.Max})

	var c recorder.Canvas
	x.plot.Draw(draw.NewCanvas(&c, panelWidth, panelHeight))
	require.NotEmpty(t, c.Actions)

	for _, name := range []string{"digits.svg", "digits.png", "digits.pdf"} {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, PlotVary(file, r))
		st, err := os.Stat(file)
		require.NoError(t, err)
		require.Positive(t, st.Size())
	}
	require.ErrorContains(t, PlotVary("digits.txt", r), "ends in .svg, .png or .pdf")
	r.Variables = r.Variables[1:]
	require.ErrorIs(t, PlotVary("digits.svg", r), errNoNumbers)
}
