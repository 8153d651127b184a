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
)

// CheckPlotName says whether Plot can write a file of that name.
func CheckPlotName(name string) error {
	if ext := plotFormat(name); !slices.Contains([]string{"svg", "png", "pdf"}, ext) {
		return fmt.Errorf("-plot %s: want a name that ends in .svg, .png or .pdf", name)
	}
	return nil
}

func plotFormat(name string) string { return strings.TrimPrefix(filepath.Ext(name), ".") }

// Colours that differ in lightness too, so that a copy in grey can be read.
var palette = []color.Color{
	color.RGBA{0x33, 0x4e, 0x68, 0xff},
	color.RGBA{0xb8, 0x4a, 0x39, 0xff},
	color.RGBA{0x8d, 0xa9, 0xc4, 0xff},
	color.RGBA{0x3f, 0x88, 0x5b, 0xff},
	color.RGBA{0xe0, 0xa4, 0x58, 0xff},
}

var waitColor = color.RGBA{0x20, 0x20, 0x20, 0x80}

const panelWidth, panelHeight = 16 * vg.Centimeter, 10 * vg.Centimeter

// Plot draws figure 5 and, if links were limited, efficiency over bandwidth,
// side by side in one file.
func (m *Measurement) Plot(name string) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	bars, err := m.barPlot("HPCCG", Kernels)
	if err != nil {
		return fmt.Errorf("draw figure 5: %w", err)
	}
	panels := []*plot.Plot{bars}
	if len(m.Models) > 0 {
		curves, err := m.curvePlot()
		if err != nil {
			return fmt.Errorf("draw efficiency over bandwidth: %w", err)
		}
		panels = append(panels, curves)
	}
	return writePanels(name, panels)
}

// writePanels draws plots side by side in one file.
func writePanels(name string, panels []*plot.Plot) error {
	canvas, err := draw.NewFormattedCanvas(panelWidth*vg.Length(len(panels)), panelHeight, plotFormat(name))
	if err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: vg.Centimeter, PadLeft: 2, PadRight: 2, PadTop: 2, PadBottom: 2}
	for i, c := range plot.Align([][]*plot.Plot{panels}, tiles, draw.New(canvas))[0] {
		panels[i].Draw(c)
	}
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

// barPlot is figure 5 or 6c: times divided by the native ones, with quartiles, the
// efficiency on top of each bar and the waiting time shaded at its head.
func (m *Series) barPlot(app string, kernels []string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = app + ": time in each kernel and as a whole"
	p.Y.Label.Text = "time / native time"
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
	for i, c := range configs {
		times, waits := make(plotter.Values, len(parts)), make(plotter.Values, len(parts))
		offset := width * (vg.Length(i) - vg.Length(len(configs)-1)/2)
		tops := plotter.XYLabels{}
		var spread quartiles
		for j, k := range parts {
			r, _ := m.Row(k, c.Name)
			native, _ := m.Row(k, configs[0].Name)
			unit := native.Seconds.Median
			t := r.Seconds.Median / unit
			times[j], waits[j] = t*(1-r.Wait), t*r.Wait
			spread.XYs = append(spread.XYs, plotter.XY{X: float64(j), Y: t})
			spread.YErrors = append(spread.YErrors, struct{ Low, High float64 }{t - r.Seconds.Q1/unit, r.Seconds.Q3/unit - t})
			tops.XYs = append(tops.XYs, plotter.XY{X: float64(j), Y: r.Seconds.Q3 / unit})
			tops.Labels = append(tops.Labels, fmt.Sprintf("%.2f", r.E.Median))
			highest = max(highest, r.Seconds.Q3/unit)
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
			labels.TextStyle[l].Font.Size = 7
		}
		labels.Offset = vg.Point{X: offset, Y: 3}
		bars, err := plotter.NewYErrorBars(spread)
		if err != nil {
			return nil, err
		}
		p.Add(busy, waiting, shifted{bars, offset}, labels)
		p.Legend.Add(c.Name, busy)
		if i == len(configs)-1 {
			p.Legend.Add("waiting for updates", waiting)
		}
	}
	names := slices.Clone(parts)
	names[len(names)-1] = app
	p.NominalX(names...)
	p.Y.Max = 1.35 * highest // the legend stands above the bars
	legend(p)
	return p, nil
}

func legend(p *plot.Plot) {
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs = vg.Points(6)
	p.Legend.Padding = vg.Points(2)
	p.Legend.TextStyle.Font.Size = 8
}

// quartiles is what error bars are made of.
type quartiles struct {
	plotter.XYs
	plotter.YErrors
}

// shifted draws a plotter beside its place.
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

// curvePlot is efficiency over bandwidth: points measured, curves of the
// model.
func (m *Measurement) curvePlot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "efficiency over the bandwidth of the link"
	p.X.Label.Text = "GB/s in each direction"
	p.Y.Label.Text = "E = T(native) / T"
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = bandwidthTicks{}
	p.Add(plotter.NewGrid())
	low, high := math.Inf(1), 0.0
	for _, c := range m.Configs {
		if c.Limit > 0 {
			low, high = min(low, c.Limit/1e9), max(high, c.Limit/1e9)
		}
	}
	low, high = low/2, high*2
	for i, model := range m.Models {
		curve := plotter.NewFunction(func(b float64) float64 { return model.E(b * 1e9) })
		curve.Samples = 200
		curve.Color, curve.Width = palette[i%len(palette)], vg.Points(1)
		curve.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		var q quartiles
		for _, c := range m.Configs {
			if r, ok := m.Row(model.Kernel, c.Name); ok && c.Limit > 0 {
				q.XYs = append(q.XYs, plotter.XY{X: c.Limit / 1e9, Y: r.E.Median})
				q.YErrors = append(q.YErrors, struct{ Low, High float64 }{r.E.Median - r.E.Q1, r.E.Q3 - r.E.Median})
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
		name := model.Kernel
		if name == Total {
			name = "HPCCG"
		}
		p.Legend.Add(name+", measured and model", curve, points)
	}
	p.X.Min, p.X.Max = low, high
	p.Y.Min, p.Y.Max = 0, 1.6 // the legend stands above the curves
	legend(p)
	return p, nil
}

// bandwidthTicks marks 1, 2 and 5 times every power of ten.
type bandwidthTicks struct{}

// Ticks implements plot.Ticker.
func (bandwidthTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
		for _, d := range []float64{1, 2, 5} {
			if v := d * math.Pow(10, decade); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.3g", v)})
			}
		}
	}
	return ticks
}
