package figures

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/intrahpc/intra/cmd/intrabench/internal/scale"
)

// PlotScale plots the costs of a job over the number of its processes, on logarithmic axes.
func PlotScale(name string, rows []scale.Row) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	times, err := scalePlot("time", "seconds", rows, []curve{
		{"start", func(r scale.Row) float64 { return r.Start }},
		{"allreduce of 8 bytes", func(r scale.Row) float64 { return r.Allreduce }},
		{"half round trip of 8 bytes", func(r scale.Row) float64 { return r.HalfTrip }},
	})
	if err != nil {
		return err
	}
	use, err := scalePlot("for each process", "as the legend says", rows, []curve{
		{"links", func(r scale.Row) float64 { return r.Links }},
		{"memory, MB", func(r scale.Row) float64 { return r.Memory / 1e6 }},
		{"wake-ups in a second at rest", func(r scale.Row) float64 { return r.Wakeups }},
		{"intrarun's memory, MB", func(r scale.Row) float64 { return r.LauncherMemory / 1e6 / float64(r.Processes) }},
	})
	if err != nil {
		return err
	}
	return writePanels(name, []*panel{times, use})
}

// curve is a column of the table as a curve.
type curve struct {
	name string
	of   func(scale.Row) float64
}

func scalePlot(title, unit string, rows []scale.Row, curves []curve) (*panel, error) {
	x := newPanel()
	p := x.plot
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "processes", unit
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	for i, c := range curves {
		var points plotter.XYs
		for _, r := range rows {
			if y := c.of(r); y > 0 { // the axis is logarithmic
				points = append(points, plotter.XY{X: float64(r.Processes), Y: y})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, fmt.Errorf("draw the %s over the processes: %w", c.name, err)
		}
		line.Color, line.Width = palette[i], vg.Points(1.2)
		marks.Color, marks.Radius = palette[i], vg.Points(2)
		p.Add(line, marks)
		x.legend.Add(c.name, line)
	}
	return x, nil
}
