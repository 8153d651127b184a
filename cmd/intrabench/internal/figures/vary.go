package figures

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/intrahpc/intra/internal/vary"
)

// errNoNumbers reports that there is nothing to plot.
var errNoNumbers = errors.New("no variable of the report has floating-point numbers: there are no digits to draw")

// PlotVary plots how many digits of each variable remain at each safe point. It uses the worst
// set of each variable.
func PlotVary(name string, r *vary.Result) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	x, err := varyPlot(r)
	if err != nil {
		return fmt.Errorf("draw the digits: %w", err)
	}
	return writePanels(name, []*panel{x})
}

func varyPlot(r *vary.Result) (*panel, error) {
	x := newPanel()
	p := x.plot
	p.Title.Text = "digits that are left, " + r.Spec
	p.X.Label.Text = "safe point"
	p.Y.Label.Text = "significant digits"
	p.Add(plotter.NewGrid())
	n := 0
	for _, v := range r.Variables {
		var points plotter.XYs
		for _, s := range courseOf(r, v) {
			points = append(points, plotter.XY{X: float64(s.SafePoint), Y: s.Digits})
		}
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = palette[n%len(palette)], vg.Points(1.2)
		if again := n / len(palette); again > 0 { // all colours have been used: repeat them
			line.Dashes = []vg.Length{vg.Points(2 + 3*float64(again)), vg.Points(2)}
		}
		marks.Color, marks.Radius = line.Color, vg.Points(1)
		p.Add(line, marks)
		x.legend.Add(fmt.Sprintf("%s, set %d: %.1f digits at the end", v.Name, v.Set, *v.Digits), line)
		n++
	}
	if n == 0 {
		return nil, errNoNumbers
	}
	p.Y.Min, p.Y.Max = 0, math.Ceil(p.Y.Max)
	for _, s := range r.Sets {
		if s.Apart != nil {
			x.warning = fmt.Sprintf("WARNING: set %d goes another way from safe point %d on", s.Set, s.Apart.SafePoint)
			break
		}
	}
	return x, nil
}

// courseOf returns the course of a variable in its worst set.
func courseOf(r *vary.Result, worst vary.Variance) []vary.Step {
	for _, s := range r.Sets {
		for _, v := range s.Variables {
			if s.Set == worst.Set && v.Name == worst.Name {
				return v.Course
			}
		}
	}
	return nil
}
