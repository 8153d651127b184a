package figures

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// CheckPlotName returns an error if Plot cannot write a file of that name.
func CheckPlotName(name string) error {
	if ext := plotFormat(name); !slices.Contains([]string{"svg", "png", "pdf"}, ext) {
		return fmt.Errorf("-plot %s: want a name that ends in .svg, .png or .pdf", name)
	}
	return nil
}

func plotFormat(name string) string { return strings.TrimPrefix(filepath.Ext(name), ".") }

// palette has colours that also differ in lightness, so that a grey copy stays readable.
var palette = []color.Color{
	color.RGBA{0x33, 0x4e, 0x68, 0xff},
	color.RGBA{0xb8, 0x4a, 0x39, 0xff},
	color.RGBA{0x8d, 0xa9, 0xc4, 0xff},
	color.RGBA{0x3f, 0x88, 0x5b, 0xff},
	color.RGBA{0xe0, 0xa4, 0x58, 0xff},
}

var waitColor = color.RGBA{0x20, 0x20, 0x20, 0x80}

const panelWidth, panelHeight = 16 * vg.Centimeter, 10 * vg.Centimeter

// panel is a plot with a legend and a warning below its axes, where nothing else is drawn.
type panel struct {
	plot    *plot.Plot
	legend  plot.Legend
	warning string // why the figure is not meaningful, or ""
}

func newPanel() *panel {
	x := &panel{plot: plot.New(), legend: plot.NewLegend()}
	x.legend.Left, x.legend.Top = true, true
	x.legend.Padding = vg.Points(2)
	x.legend.TextStyle.Font.Size = 8
	return x
}

// Plot draws figure 5. If links were limited, it also draws efficiency over bandwidth beside
// it in the same file.
func (m *Measurement) Plot(name string) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	bars, err := m.barPlot(m.Problem.name(), m.Problem.kernels())
	if err != nil {
		return fmt.Errorf("draw figure 5: %w", err)
	}
	panels, err := m.withCurves(bars, "HPCCG")
	if err != nil {
		return err
	}
	return writePanels(name, panels)
}

// withCurves returns the panel and, if links were limited, a panel of efficiency over
// bandwidth.
func (m *Series) withCurves(bars *panel, app string) ([]*panel, error) {
	if len(m.Models) == 0 {
		return []*panel{bars}, nil
	}
	curves, err := m.curvePlot(app)
	if err != nil {
		return nil, fmt.Errorf("draw efficiency over bandwidth: %w", err)
	}
	return []*panel{bars, curves}, nil
}

// below returns the height that a panel needs below its axes.
func (x *panel) below(c draw.Canvas) vg.Length {
	r := x.legend.Rectangle(c)
	return r.Max.Y - r.Min.Y + 3*warningSize
}

// warningSize is the size of the letters of a warning.
const warningSize = 8

var warningColor = color.RGBA{0xc0, 0x10, 0x10, 0xff}

// drawBelow draws the legend, and the warning under it, below the axes.
func (x *panel) drawBelow(c draw.Canvas) {
	x.legend.Draw(c)
	if x.warning != "" {
		style := x.legend.TextStyle
		style.Color, style.Font.Size = warningColor, warningSize
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Min.Y + warningSize}, x.warning)
	}
}

// writePanels draws panels side by side in one file.
func writePanels(name string, panels []*panel) error {
	room := vg.Length(0)
	for _, x := range panels {
		room = max(room, x.below(draw.NewCanvas(new(recorder.Canvas), panelWidth, panelHeight)))
	}
	canvas, err := draw.NewFormattedCanvas(panelWidth*vg.Length(len(panels)), panelHeight+room, plotFormat(name))
	if err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	drawPanels(draw.New(canvas), panels, room)
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	_, err = canvas.WriteTo(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}

// relative returns the spread of a kernel's time divided by the native time of the same round.
func (m *Series) relative(kernel, config string) spread.Spread {
	var all []float64
	own := m.series(kernel, config)
	for i, s := range m.series(kernel, m.base(config).Name) {
		all = append(all, own[i].Seconds/s.Seconds)
	}
	return spread.Of(all)
}

// fewRounds is the number of rounds below which quartiles are not meaningful.
const fewRounds = 3

// warning returns why a figure is not meaningful, or "".
func (m *Series) warning(loose []string) string {
	switch {
	case m.Rounds < fewRounds:
		return fmt.Sprintf("WARNING: of %d rounds quartiles say nothing: take %d or more", m.Rounds, fewRounds)
	case len(loose) > 0:
		text := strings.Join(loose[:min(len(loose), 3)], ", ")
		if n := len(loose) - 3; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		return "WARNING: quartiles too far apart to say anything (marked ?): " + text
	}
	return ""
}

// named returns the name of a kernel, or of the whole program, in a figure.
func named(kernel, app string) string {
	if kernel == Total {
		return app
	}
	return kernel
}

// label formats a value. It adds a question mark if the quartiles of the value are too far
// apart.
func label(s spread.Spread) string {
	if s.Loose() {
		return fmt.Sprintf("%.2f?", s.Median)
	}
	return fmt.Sprintf("%.2f", s.Median)
}

// drawPanels draws panels side by side, with room below their axes.
func drawPanels(c draw.Canvas, panels []*panel, room vg.Length) {
	const gap = vg.Centimeter
	plots := make([]*plot.Plot, len(panels))
	for i, x := range panels {
		plots[i] = x.plot
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: gap, PadLeft: 2, PadRight: 2, PadTop: 2, PadBottom: room}
	for i, tile := range plot.Align([][]*plot.Plot{plots}, tiles, c)[0] {
		panels[i].plot.Draw(tile)
		panels[i].drawBelow(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: tile.Min.X + gap/2, Y: c.Min.Y}, Max: vg.Point{X: tile.Max.X, Y: c.Min.Y + room}}})
	}
}

// barPlot draws figure 5 or 6c: times divided by native times, with quartiles. The median
// stands on top of each bar, and the waiting time is shaded at its top.
func (m *Series) barPlot(app string, kernels []string) (*panel, error) {
	x := newPanel()
	p := x.plot
	p.Title.Text = app + ": time in each kernel and as a whole"
	p.Y.Label.Text = "time / native time (less is better)"
	p.Y.Min = 0
	p.Add(plotter.NewGrid())
	parts := append(slices.Clone(kernels), Total)
	var configs []Config
	for _, c := range m.Configs {
		if c.Limit == 0 && c.Name != PeerConfig.Name {
			configs = append(configs, c)
		}
	}
	width := 11 * vg.Centimeter / vg.Length(len(parts)*(len(configs)+1))
	highest := 1.0
	var loose []string
	for i, c := range configs {
		times, waits := make(plotter.Values, len(parts)), make(plotter.Values, len(parts))
		offset := width * (vg.Length(i) - vg.Length(len(configs)-1)/2)
		tops := plotter.XYLabels{}
		var ends quartiles
		for j, k := range parts {
			r, _ := m.Row(k, c.Name)
			t := m.relative(k, c.Name)
			times[j], waits[j] = t.Median*(1-r.Wait), t.Median*r.Wait
			ends.XYs = append(ends.XYs, plotter.XY{X: float64(j), Y: t.Median})
			ends.YErrors = append(ends.YErrors, struct{ Low, High float64 }{t.Median - t.Q1, t.Q3 - t.Median})
			tops.XYs = append(tops.XYs, plotter.XY{X: float64(j), Y: t.Q3})
			tops.Labels = append(tops.Labels, label(t))
			highest = max(highest, t.Q3)
			if t.Loose() {
				loose = append(loose, named(k, app)+" "+c.Name)
			}
		}
		busy, err := plotter.NewBarChart(times, width)
		if err != nil {
			return nil, err
		}
		waiting, err := plotter.NewBarChart(waits, width)
		if err != nil {
			return nil, err
		}
		busy.Color, waiting.Color = palette[i%len(palette)], waitColor
		busy.Offset, waiting.Offset = offset, offset
		waiting.StackOn(busy)
		labels, err := plotter.NewLabels(tops)
		if err != nil {
			return nil, err
		}
		for l := range labels.TextStyle {
			labels.TextStyle[l].XAlign = draw.XCenter
			labels.TextStyle[l].Font.Size = min(7, width/2.2) // no wider than a bar
		}
		labels.Offset = vg.Point{X: offset, Y: 3}
		bars, err := plotter.NewYErrorBars(ends)
		if err != nil {
			return nil, err
		}
		p.Add(busy, waiting, shifted{bars, offset}, labels)
		x.legend.Add(c.Name, busy)
		if i == len(configs)-1 {
			x.legend.Add("of it waiting for updates", waiting)
		}
	}
	names := make([]string, len(parts))
	for j, k := range parts {
		names[j] = named(k, app)
	}
	p.NominalX(names...)
	p.Y.Max = 1.1 * highest // leave room for the labels
	x.warning = m.warning(loose)
	return x, nil
}

// quartiles holds the data of error bars.
type quartiles struct {
	plotter.XYs
	plotter.YErrors
}

// shifted draws a plotter with an offset.
type shifted struct {
	plot.Plotter
	by vg.Length
}

// Plot implements plot.Plotter.
func (s shifted) Plot(c draw.Canvas, p *plot.Plot) {
	c.Min.X += s.by
	c.Max.X += s.by
	s.Plotter.Plot(c, p)
}

// curvePlot draws efficiency over bandwidth: measured points, and curves of the model.
func (m *Series) curvePlot(app string) (*panel, error) {
	x := newPanel()
	p := x.plot
	p.Title.Text = app + ": efficiency over the bandwidth of the link"
	p.X.Label.Text = "GB/s in each direction"
	p.Y.Label.Text = "E = T(native) / T"
	p.X.Scale = plot.LogScale{}
	p.Add(plotter.NewGrid())
	low, high := math.Inf(1), 0.0
	for _, c := range m.Configs {
		if c.shares() {
			low, high = min(low, c.Limit/1e9), max(high, c.Limit/1e9)
		}
	}
	unlimited := 2 * high // position of links without a limit on the axis
	p.X.Tick.Marker = bandwidthTicks{unlimited}
	low, high = low/2, high*3
	highest := 1.0
	var loose []string
	for i, model := range m.Models {
		curve := plotter.NewFunction(func(b float64) float64 { return model.E(b * 1e9) })
		curve.Samples = 200
		curve.Color, curve.Width = palette[i%len(palette)], vg.Points(1)
		curve.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		var q quartiles
		for _, c := range m.Configs {
			if r, ok := m.Row(model.Kernel, c.Name); ok && (c.shares() || c.Name == Send.Name) {
				at := unlimited
				if c.Limit > 0 {
					at = c.Limit / 1e9
				}
				q.XYs = append(q.XYs, plotter.XY{X: at, Y: r.E.Median})
				q.YErrors = append(q.YErrors, struct{ Low, High float64 }{r.E.Median - r.E.Q1, r.E.Q3 - r.E.Median})
				highest = max(highest, r.E.Q3)
				if r.E.Loose() {
					loose = append(loose, named(model.Kernel, app)+" "+c.Name)
				}
			}
		}
		points, err := plotter.NewScatter(q)
		if err != nil {
			return nil, err
		}
		points.Color, points.Shape, points.Radius = palette[i%len(palette)], draw.CircleGlyph{}, vg.Points(3)
		bars, err := plotter.NewYErrorBars(q)
		if err != nil {
			return nil, err
		}
		bars.Color = palette[i%len(palette)]
		p.Add(curve, bars, points)
		x.legend.Add(named(model.Kernel, app)+", measured and model", curve, points)
	}
	p.X.Min, p.X.Max = low, high
	p.Y.Min, p.Y.Max = 0, 1.05*highest
	x.warning = m.warning(loose)
	return x, nil
}

// bandwidthTicks marks 1, 2 and 5 times every power of ten, and the position of links without
// a limit.
type bandwidthTicks struct{ unlimited float64 }

// Ticks implements plot.Ticker.
func (b bandwidthTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
		for _, d := range []float64{1, 2, 5} {
			if v := d * math.Pow(10, decade); v >= low && v < 0.8*b.unlimited {
				ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.3g", v)})
			}
		}
	}
	return append(ticks, plot.Tick{Value: b.unlimited, Label: "unlimited"})
}
