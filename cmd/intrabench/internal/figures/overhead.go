package figures

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Overhead is the cost of replicated messages for a program that shares nothing. Every process
// then has as much work as without replicas.
type Overhead struct {
	Proxy Proxy `json:"program"`
	Series
	Cores int `json:"cores"`
}

// Partial returns a job with that number of ranks, of which the first ones, replicated in
// number, have a replica.
func Partial(ranks, replicated int) Config {
	degrees := make([]string, ranks)
	for i := range degrees {
		degrees[i] = "1"
		if i < replicated {
			degrees[i] = "2"
		}
	}
	return Config{
		Name:  fmt.Sprintf("%d%%", 100*replicated/ranks),
		Ranks: ranks, Replicas: 1, Degrees: strings.Join(degrees, ","), Flags: Replicated.Flags,
	}
}

// Apart returns two independent native runs at the same time. Together they have as many
// processes as a job with a replica of each rank.
func Apart(ranks int) Config {
	return Config{Name: "two native runs", Ranks: ranks, Replicas: 1, Jobs: 2}
}

// MeasureOverhead runs a program on that number of ranks. replicated lists numbers of ranks
// that have a replica. If there are more processes than cores, the processes take turns, and
// are not bound to cores.
func MeasureOverhead(ctx context.Context, run ProxyRunner, x Proxy, ranks int, replicated []int, rounds, cores int, before func(round int, c Config)) (*Overhead, error) {
	configs := []Config{{Name: Native.Name, Ranks: ranks, Replicas: 1}, Apart(ranks)}
	for _, n := range replicated {
		configs = append(configs, Partial(ranks, n))
	}
	o := &Overhead{Proxy: x, Cores: cores}
	if o.Configs = configs; o.crowded() {
		for i := range configs {
			configs[i].Flags = slices.Concat([]string{"-bind", "none"}, configs[i].Flags)
		}
	}
	var err error
	o.Series, err = alternate(ctx, rounds, configs, before, func(ctx context.Context, c Config) (Trial, error) { return run(ctx, c, x, ranks) })
	if err != nil {
		return nil, err
	}
	if err := o.sameBits(); err != nil {
		return nil, err
	}
	o.sumUp(nil)
	return o, nil
}

// Of returns how much longer a configuration takes than the same number of independent
// processes, as a fraction of their time. That time is interpolated linearly between one
// native run and two.
func (o *Overhead) Of(config string) spread.Spread {
	one, two := o.Configs[0], o.Configs[1]
	more := (o.config(config).processes() - one.processes()) / (two.processes() - one.processes())
	var all []float64
	own, apart := o.series(Total, config), o.series(Total, two.Name)
	for i, s := range o.series(Total, one.Name) {
		all = append(all, own[i].Seconds/(s.Seconds+more*(apart[i].Seconds-s.Seconds))-1)
	}
	return spread.Of(all)
}

// crowded reports whether processes have to share cores.
func (o *Overhead) crowded() bool {
	return slices.ContainsFunc(o.Configs, func(c Config) bool { return c.processes() > float64(o.Cores) })
}

// OverheadTable writes a line for each program and configuration. The last column shows
// published values from paper, by program or by configuration.
func OverheadTable(w io.Writer, title string, all []*Overhead, paper map[string]string) error {
	fmt.Fprintf(w, "%s\n\n", title)
	t := newColumns(w)
	fmt.Fprintf(t, "program\treplicated\tprocesses\tseconds\t\toverhead\t\tpaper\n")
	loose := false
	for _, o := range all {
		for i, c := range o.Configs {
			r, _ := o.Row(Total, c.Name)
			fmt.Fprintf(t, "%s\t%s\t%.0f\t%.4f\t%s", o.Proxy.Name, c.Name, c.processes(), r.Seconds.Median, brackets(r.Seconds, 4))
			if i > 1 {
				v := o.Of(c.Name)
				loose = loose || v.Q3-v.Q1 > 0.1
				program, _, _ := strings.Cut(o.Proxy.Name, " ")
				fmt.Fprintf(t, "\t%+.1f%%\t[%+.1f%% %+.1f%%]\t%s", 100*v.Median, 100*v.Q1, 100*v.Q3, paper[program])
			}
			fmt.Fprintln(t)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "overhead: beside as many processes of native runs at the same time, between one and two of them on a straight line")
	if len(all) > 0 && all[0].crowded() {
		_, err = fmt.Fprintf(w, "There are %d cores only: processes take turns, as those of two native runs do; a message waits for the turn of whoever gets it\n", all[0].Cores)
	}
	if loose {
		_, err = fmt.Fprintln(w, "WARNING: some quartiles are more than 10 points apart: the machine was not quiet, or the runs were too short")
	}
	if len(all) > 0 && all[0].Rounds < 3 {
		_, err = fmt.Fprintf(w, "WARNING: quartiles of %d rounds say nothing: take 3 or more\n", all[0].Rounds)
	}
	return err
}
