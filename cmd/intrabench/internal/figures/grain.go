package figures

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/intrahpc/intra/cmd/intrabench/internal/grain"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// PlotGrain plots efficiency, the share of the cores' time that is spent on work, over the
// amount of work of a core, for each way to run a section.
func PlotGrain(name string, o grain.Options, results []grain.Result) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	x := newPanel()
	p := x.plot
	p.Title.Text = fmt.Sprintf("sections of %d tasks with %d bytes of results each", o.Tasks, o.Bytes)
	p.X.Label.Text, p.Y.Label.Text = "work of a core, µs", "share of time that is work"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min, p.Y.Max = 0, 1.05
	p.Add(plotter.NewGrid())
	for n, r := range results[1:] {
		var points plotter.XYs
		for i := range o.Work {
			var work []float64
			for round := range r.Work {
				work = append(work, 1e6*r.Work[round][i]/float64(r.Cores))
			}
			_, e := r.Size(i)
			points = append(points, plotter.XY{X: spread.Of(work).Median, Y: e.Median})
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("draw the share of work: %w", err)
		}
		line.Color, line.Width = palette[n%len(palette)], vg.Points(1.2)
		if again := n / len(palette); again > 0 { // all colours have been used: repeat them
			line.Dashes = []vg.Length{vg.Points(2 + 3*float64(again)), vg.Points(2)}
		}
		marks.Color, marks.Radius = line.Color, vg.Points(1.5)
		p.Add(line, marks)
		x.legend.Add(fmt.Sprintf("%s: METG(50 %%) %s", r.Way, r.Grain()), line)
	}
	return writePanels(name, []*panel{x})
}
