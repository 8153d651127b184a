package figures

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/intrahpc/intra/cmd/intrabench/internal/notice"
)

// PlotJoin plots the speed of a job that a host joins, over time: its median over all rounds,
// with a band between the quartiles.
func PlotJoin(name string, j *notice.Join) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	x := newPanel()
	p := x.plot
	p.Title.Text = "a host joins at 0 s, and a second replica runs there"
	p.X.Label.Text, p.Y.Label.Text = "seconds", "passes per second / those of two replicas from the start"
	p.Add(plotter.NewGrid())
	var median, band plotter.XYs
	for _, at := range j.Curve {
		median = append(median, plotter.XY{X: at.Seconds, Y: at.Speed.Median})
		band = append(band, plotter.XY{X: at.Seconds, Y: at.Speed.Q3})
	}
	for i := len(j.Curve) - 1; i >= 0; i-- {
		band = append(band, plotter.XY{X: j.Curve[i].Seconds, Y: j.Curve[i].Speed.Q1})
	}
	quartile, err := plotter.NewPolygon(band)
	if err != nil {
		return fmt.Errorf("draw the quartiles of a host that joins: %w", err)
	}
	line, err := plotter.NewLine(median)
	if err != nil {
		return fmt.Errorf("draw a host that joins: %w", err)
	}
	quartile.Color, quartile.LineStyle.Width = color.RGBA{0x8d, 0xa9, 0xc4, 0x80}, 0
	line.Color, line.Width = palette[0], vg.Points(1.2)
	goal := plotter.NewFunction(func(float64) float64 { return 0.9 })
	goal.Color, goal.Dashes = palette[1], []vg.Length{vg.Points(4), vg.Points(2)}
	p.Add(quartile, line, goal)
	p.Y.Min, p.Y.Max = 0, max(1.2, p.Y.Max)
	x.legend.Add("median", line)
	x.legend.Add("quartiles", quartile)
	x.legend.Add("0.9", goal)
	return writePanels(name, []*panel{x})
}
