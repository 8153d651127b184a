package main

import (
	"fmt"
	"io"
	"strings"
)

// result is the output of a run; as JSON it is one line.
type result struct {
	Ranks       int         `json:"ranks"`
	Steps       []diagnosis `json:"steps"`
	Seconds     seconds     `json:"seconds"`
	StateSHA256 string      `json:"state_sha256"`
}

// print writes one line about a step.
func (d *diagnosis) print(w io.Writer) {
	fmt.Fprintf(w, "step %4d  potential %.6e  zonal %.6e  heat flux %+.4e  field energy %.4e\n",
		d.Step, float64(d.RMS), float64(d.Eradial), float64(d.HeatFlux), float64(d.FieldEnergy[1]))
}

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	if n := len(r.Steps); n > 0 {
		ions := 0
		for _, m := range r.Steps[n-1].Markers {
			ions += m
		}
		fmt.Fprintf(w, "%d ions, ", ions)
	}
	fmt.Fprintf(w, "state %s…\n", r.StateSHA256[:16])
	t := &r.Seconds
	for _, line := range []struct {
		name    string
		seconds float64
	}{
		{"total", t.Total}, {"push", t.Push}, {"charge", t.Charge}, {"shift", t.Shift}, {"poisson", t.Poisson},
		{"smooth", t.Smooth}, {"field", t.Field}, {"load", t.Load},
	} {
		share := 100 * line.seconds / max(t.Total, 1e-300)
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-10s %10.4f s %6.1f%%", line.name, line.seconds, share), " "))
	}
}
