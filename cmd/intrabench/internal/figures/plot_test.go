package figures

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// texts returns the positions of the texts in a figure.
func texts(panels ...*panel) map[string]vg.Point {
	var c recorder.Canvas
	const room = 4 * vg.Centimeter
	drawPanels(draw.NewCanvas(&c, panelWidth*vg.Length(len(panels)), panelHeight+room), panels, room)
	found := make(map[string]vg.Point)
	for _, a := range c.Actions {
		if s, ok := a.(*recorder.FillString); ok {
			found[s.String] = s.Point
		}
	}
	return found
}

// uneven measures replicated trials that take random times.
func uneven(t *testing.T, rounds int) *Measurement {
	var order []string
	run, n := fake(&order), 0
	m, err := Measure(t.Context(), func(ctx context.Context, c Config, pr Problem) (Trial, error) {
		tr, err := run(ctx, c, pr)
		if c.Name == Replicated.Name {
			n++
			s := tr.Samples["ddot"]
			s.Seconds *= 1 + float64(n%3)/2
			tr.Samples["ddot"] = s
		}
		return tr, err
	}, Problem{Iters: 10}, rounds, []Config{Native, Replicated, Static, Send}, nil)
	require.NoError(t, err)
	return m
}

// Legends and warnings are below the axes, where no bar covers them.
func TestLegendsAreClearOfBars(t *testing.T) {
	m, _ := measured(t, "0.5GB/s", "2GB/s")
	bars, err := m.barPlot("HPCCG", Kernels)
	require.NoError(t, err)
	curves, err := m.curvePlot("HPCCG")
	require.NoError(t, err)
	at := texts(bars, curves)
	for _, axis := range []string{"waxpby", "HPCCG", "GB/s in each direction"} {
		require.Contains(t, at, axis)
		for _, entry := range []string{"native", "send", "of it waiting for updates", "sparsemv, measured and model"} {
			require.Contains(t, at, entry)
			require.Less(t, at[entry].Y+warningSize, at[axis].Y, "%s below %s", entry, axis)
		}
	}
	m = uneven(t, 6)
	bars, err = m.barPlot("HPCCG", Kernels)
	require.NoError(t, err)
	at = texts(bars)
	require.Contains(t, at, bars.warning)
	require.Less(t, at[bars.warning].Y+warningSize, at["of it waiting for updates"].Y)
	require.GreaterOrEqual(t, at[bars.warning].Y, vg.Length(0))
}

// If the quartiles of a figure are too far apart, the figure contains a warning.
func TestFigureWithAWarning(t *testing.T) {
	m := uneven(t, 6)
	bars, err := m.barPlot("HPCCG", Kernels)
	require.NoError(t, err)
	require.Equal(t, "WARNING: quartiles too far apart to say anything (marked ?): ddot replicated", bars.warning)
	marked := 0
	for text := range texts(bars) {
		if text == fmt.Sprintf("%.2f?", m.relative("ddot", Replicated.Name).Median) {
			marked++
		}
	}
	require.Equal(t, 1, marked)

	m = uneven(t, 2)
	bars, err = m.barPlot("HPCCG", Kernels)
	require.NoError(t, err)
	require.Equal(t, "WARNING: of 2 rounds quartiles say nothing: take 3 or more", bars.warning)

	m, _ = measured(t)
	require.Equal(t, "WARNING: quartiles too far apart to say anything (marked ?): a, b, c and 2 more", m.warning([]string{"a", "b", "c", "d", "e"}))
}
