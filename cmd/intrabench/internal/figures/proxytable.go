package figures

import (
	"fmt"
	"io"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

const proxyNote = `E = T(native) / T, divided by how many times the cores of the native run were used: median [quartiles] of
the quotients of each round. x: T(replicated) / T on the same cores, so what sharing brings. total is what
the program times, wall the whole job. Times of a kernel are what a process spends in its sections (without
replicas: in its tasks), on average over the processes; wait is the share that waits for updates of others.
`

// Table writes the results, and warns of values that are not meaningful.
func (m *ProxyMeasurement) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s, %d rounds in alternation\n", m.Proxy.Name, m.resources(), m.Rounds)
	t := newColumns(w)
	for _, k := range append([]string{Total, Wall}, m.Kernels...) {
		fmt.Fprintf(t, "\n%s\tprocesses\tseconds\t\tE\t\tx\twait\tdecision\n", k)
		for _, c := range m.Configs {
			r, _ := m.Row(k, c.Name)
			gain := ""
			if c.Replicas > 1 {
				gain = fmt.Sprintf("%.2f", m.gain(k, c.Name).Median)
			}
			fmt.Fprintf(t, "  %s\t%d x %d\t%.4f\t%s\t%.3f\t%s\t%s\t%.1f%%\t%s\n", c.Name, c.Ranks, c.Replicas, r.Seconds.Median, brackets(r.Seconds, 4),
				r.E.Median, brackets(r.E, 3), gain, 100*r.Wait, decisions(r.Decision))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := m.bySections(w); err != nil {
		return err
	}
	return m.warn(w)
}

// resources describes the resources of the native run and of the other runs.
func (m *ProxyMeasurement) resources() string {
	what := strings.Join(m.Proxy.Args, " ")
	if m.Proxy.NX > 0 {
		what = fmt.Sprintf("-nx %d %s", m.Proxy.NX, what)
	}
	switch {
	case m.Configs[0].Ranks == 1:
		return what + "; native on one core, the others on two"
	case m.Proxy.NX > 0:
		return what + " for each of two native ranks; the others on the same cores"
	}
	return what + "; native as two ranks, the others on the same cores"
}

// gain returns the time of the replicated configuration divided by the time of config.
func (m *Series) gain(kernel, config string) spread.Spread {
	var all []float64
	own := m.series(kernel, config)
	for i, s := range m.series(kernel, Replicated.Name) {
		if own[i].Seconds > 0 {
			all = append(all, s.Seconds/own[i].Seconds)
		}
	}
	return spread.Of(all)
}

// warn names the efficiencies that are not meaningful: their quartiles are far apart, or there
// are too few rounds.
func (m *Series) warn(w io.Writer) error {
	if m.Rounds < 3 {
		_, err := fmt.Fprintf(w, "\nWARNING: quartiles of %d rounds say nothing: take 3 or more\n", m.Rounds)
		return err
	}
	var loose []string
	for _, r := range m.Rows {
		if r.E.Loose() {
			loose = append(loose, r.Kernel+" "+r.Config)
		}
	}
	if loose == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nWARNING: the machine was not quiet; quartiles are more than 15%% of the median apart in: %s\n", strings.Join(loose, ", "))
	return err
}

// Tables writes the tables of several programs, and explains them.
func Tables(w io.Writer, all []*ProxyMeasurement) error {
	for _, m := range all {
		if err := m.Table(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := io.WriteString(w, proxyNote)
	return err
}

// PlotProxies draws the programs side by side in one file.
func PlotProxies(name string, all []*ProxyMeasurement) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	var panels []*panel
	for _, m := range all {
		bars, err := m.barPlot(m.Proxy.Name, m.Kernels)
		if err != nil {
			return fmt.Errorf("draw %s: %w", m.Proxy.Name, err)
		}
		own, err := m.withCurves(bars, m.Proxy.Name)
		if err != nil {
			return err
		}
		panels = append(panels, own...)
	}
	return writePanels(name, panels)
}
