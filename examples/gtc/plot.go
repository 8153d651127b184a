package main

import (
	"bytes"
	"fmt"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/gtc/internal/fields"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// plot writes a picture of the potential in the first plane of this rank. Only one replica
// writes it.
func (s *simulation) plot(file string) error {
	_, err := intra.Once(s.p, func() (struct{}, error) {
		var png bytes.Buffer
		if err := s.draw(&png); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, os.WriteFile(file, png.Bytes(), 0o666)
	})
	if err != nil {
		return fmt.Errorf("plot the potential: %w", err)
	}
	return nil
}

func (s *simulation) draw(png *bytes.Buffer) error {
	section := &crossSection{grid: s.grid, fields: s.fields}
	largest := 1e-300
	for c := range pixels {
		for r := range pixels {
			if v := math.Abs(section.Z(c, r)); v > largest {
				largest = v
			}
		}
	}
	colors := moreland.SmoothBlueRed()
	colors.SetMin(-largest)
	colors.SetMax(largest)
	heat := plotter.NewHeatMap(section, colors.Palette(255))
	heat.Min, heat.Max = -largest, largest
	heat.Rasterized = true
	p := plot.New()
	p.Title.Text = fmt.Sprintf("eφ/T at ζ = %.2f, within ±%.1e", s.grid.Zeta(1), largest)
	p.X.Label.Text, p.Y.Label.Text = "R/R₀", "Z/R₀"
	p.Add(heat)
	w, err := p.WriterTo(16*vg.Centimeter, 16*vg.Centimeter, "png")
	if err != nil {
		return err
	}
	_, err = w.WriteTo(png)
	return err
}

const pixels = 400 // in each direction

// crossSection is a poloidal plane as a rectangular grid.
type crossSection struct {
	grid   *grid.Grid
	fields *fields.Fields
}

func (c *crossSection) Dims() (columns, rows int) { return pixels, pixels }

func (c *crossSection) X(column int) float64 { return 1 + c.Y(column) }

func (c *crossSection) Y(row int) float64 {
	return c.grid.Outer * (2*float64(row)/(pixels-1) - 1)
}

// Z returns the potential, and NaN outside of the plasma.
func (c *crossSection) Z(column, row int) float64 {
	x, y := c.X(column)-1, c.Y(row)
	r := math.Hypot(x, y)
	if r < c.grid.Inner || r > c.grid.Outer {
		return math.NaN()
	}
	unit := c.grid.Gyroradius * c.grid.Gyroradius
	return c.fields.At(c.fields.Potential, r, math.Atan2(y, x), 1) / unit
}
