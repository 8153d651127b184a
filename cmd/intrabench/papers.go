//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
)

// Titles of the papers, and their results.
const (
	sdrTitle = `Overhead of replicated messages with as much work for each process: Lefray, Ropars, Schiper, "Replication for
Send-Deterministic MPI HPC Applications", FTXS 2013, Table 1 (class D, 256 ranks, degree 2, InfiniBand 20G).
Nothing is shared.`
	partreperTitle = `Overhead over the part of the ranks that have a replica: Joshi, Vadhiyar, "PartRePer-MPI", 2023, Figure 8
(NAS on 64 to 256 ranks): mostly below 6.4 %, whatever that part is. Nothing is shared.`
	figure6Title = `Figure 6 of Ropars, Lefray, Kim, Schiper, "Efficient Process Replication for MPI Applications: Sharing Work
Between Replicas", IPDPS 2015: resources doubled at constant problem size. (a) AMG, 27-point stencil, conjugate
gradients: around 0.60. (b) AMG, 7-point stencil, GMRES: around 0.60. (d) MiniGhost, 27-point stencil: as without
sharing, but for the sum of the grid, a tenth of the time: 0.53 at most. (c) is intrabench figures -app gtc.`
)

var (
	sdrSays       = map[string]string{"bt": "1.5%", "cg": "4.9%", "ft": "3.0%", "mg": "2.6%", "sp": "2.4%"}
	partreperSays = map[string]string{"bt": "<= 6.4%", "cg": "<= 6.4%", "ep": "<= 6.4%", "is": "-74% to -14%", "mg": "<= 33%", "sp": "<= 6.4%"}
)

var paperParts = []string{"sdr", "figure6", "partreper", "forecast"}

// papersResult contains all measurements of runPapers.
type papersResult struct {
	SDR       []*figures.Overhead         `json:"sdr,omitempty"`
	PartRePer []*figures.Overhead         `json:"partreper,omitempty"`
	Figure6   []*figures.ProxyMeasurement `json:"figure6,omitempty"`
	Rates     *figures.Rates              `json:"rates,omitempty"`
	Programs  []*figures.ProxyMeasurement `json:"programs,omitempty"`
	Forecasts []figures.Forecast          `json:"forecasts,omitempty"`
}

// runPapers repeats the measurements of the papers, and measures how well the rule of the
// scheduler predicts E.
func runPapers(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("papers")
	parts := fs.String("parts", strings.Join(paperParts, ","), "`names` of what to measure, comma-separated")
	list := fs.String("programs", strings.Join(proxyNames, ","), "`names` of programs, comma-separated; a part takes those of them that it is about")
	class := fs.String("class", "A", "size of the NAS benchmarks: S, W, A, B or C")
	edge := fs.Int("n", 64, "points along each side of the other programs' cubes, for each native rank; HPCG needs a multiple of 8")
	limits := fs.String("limits", "1.2,3GB/s", "`bandwidths` of links for the forecast")
	ranks := fs.Int("ranks", 2, "ranks of the jobs of sdr, whose processes are twice as many")
	rounds := fs.Int("rounds", 5, "how often every configuration runs, in turn")
	numbers := jsonFlag(fs, args)
	plotFile := fs.String("plot", "", "draw figure 6 to `FILE`, .svg, .png or .pdf")
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	names, err := parseNames("parts", *parts, paperParts)
	if err != nil {
		return err
	}
	programNames, err := parseNames("programs", *list, proxyNames)
	if err != nil {
		return err
	}
	benchmarks, err := npb(*class, strings.Join(npbNames, ","))
	if err != nil {
		return err
	}
	withoutFT := slices.DeleteFunc(slices.Clone(benchmarks), func(x figures.Proxy) bool { return x.Folder == "npb/ft" })
	switch {
	case *rounds < 1:
		return errors.New("-rounds must be at least 1")
	case *ranks < 1:
		return errors.New("-ranks must be at least 1")
	case *edge < 16 || *edge%8 != 0:
		return errors.New("-n must be a multiple of 8, and at least 16")
	}
	if *plotFile != "" {
		if err := figures.CheckPlotName(*plotFile); err != nil {
			return err
		}
	}
	forecast := []figures.Config{figures.Static}
	for _, l := range splitLimits(*limits) {
		c, err := figures.Throttled(l)
		if err != nil {
			return err
		}
		forecast = append(forecast, c)
	}
	n := [3]int{*edge, *edge, *edge}
	amg27, amg7 := figures.AMG("27pt", "pcg", n), figures.AMG("7pt", "gmres", n)
	ghost := figures.MiniGhost("3d27", n, 5, 20)
	chosen := func(proxies ...figures.Proxy) (some []figures.Proxy) {
		for _, x := range proxies {
			if name, _, _ := strings.Cut(x.Name, " "); slices.Contains(programNames, name) {
				some = append(some, x)
			}
		}
		return some
	}
	if *plotFile != "" && (!slices.Contains(names, "figure6") || len(chosen(amg27, amg7, ghost)) == 0) {
		return errors.New("-plot draws figure 6, which is not measured with these -parts and -programs")
	}
	every := chosen(slices.Concat(benchmarks, []figures.Proxy{figures.HPCG(n, 1), ghost, amg27, amg7})...)
	programs, err := figures.BuildProxies(ctx, every...)
	if err != nil {
		return err
	}
	defer programs.Remove()
	b := &papersBench{programs: programs, rounds: *rounds, quiet: *quiet}
	printMachine(out)
	for _, part := range names {
		fmt.Fprintln(out)
		switch part {
		case "sdr":
			b.SDR, err = b.overhead(ctx, out, sdrTitle, sdrSays, []int{*ranks}, *ranks, chosen(benchmarks...))
		case "partreper":
			b.PartRePer, err = b.overhead(ctx, out, partreperTitle, partreperSays, []int{1, 2, 4}, 4, chosen(withoutFT...))
		case "figure6":
			b.Figure6, err = b.measure(ctx, figures.ProxyConfigs(true), chosen(amg27, amg7, ghost))
			if err == nil {
				fmt.Fprintf(out, "%s\n\n", figure6Title)
				err = figures.Tables(out, b.Figure6)
			}
			if err == nil && *plotFile != "" {
				err = figures.PlotProxies(*plotFile, b.Figure6)
			}
		case "forecast":
			err = b.forecast(ctx, out, figures.ProxyConfigs(true, forecast...), every)
		}
		if err != nil {
			return err
		}
	}
	return numbers.write(b.papersResult)
}

// papersBench runs the measurements and collects the results.
type papersBench struct {
	papersResult
	programs *figures.Programs
	rounds   int
	quiet    bool
}

// overhead measures jobs with that number of ranks. Some of the ranks have a replica.
func (b *papersBench) overhead(ctx context.Context, out io.Writer, title string, says map[string]string, replicated []int, ranks int, proxies []figures.Proxy) ([]*figures.Overhead, error) {
	var all []*figures.Overhead
	for _, x := range proxies {
		o, err := figures.MeasureOverhead(ctx, b.programs.RunProxy, x, ranks, replicated, b.rounds, runtime.NumCPU(), tell(b.quiet, x.Name, b.rounds))
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, figures.OverheadTable(out, title, all, says)
}

func (b *papersBench) measure(ctx context.Context, configs []figures.Config, proxies []figures.Proxy) (all []*figures.ProxyMeasurement, err error) {
	for _, x := range proxies {
		m, err := figures.MeasureProxy(ctx, b.programs.RunProxy, x, b.rounds, configs, tell(b.quiet, x.Name, b.rounds))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// forecast measures all programs over all links.
func (b *papersBench) forecast(ctx context.Context, out io.Writer, configs []figures.Config, proxies []figures.Proxy) error {
	link, err := linkBandwidth(ctx)
	if err != nil {
		return fmt.Errorf("measure the link: %w", err)
	}
	b.Rates = &figures.Rates{Store: figures.StoreRate()}
	if b.Programs, err = b.measure(ctx, configs, proxies); err != nil {
		return err
	}
	b.Rates.Ring = figures.LinkRate(b.Programs, link)
	for _, m := range b.Programs {
		b.Forecasts = append(b.Forecasts, m.Forecasts(*b.Rates)...)
	}
	return figures.ForecastTable(out, *b.Rates, b.rounds, b.Forecasts)
}
