//go:build linux

package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
)

// appFlags are the flags of the command figures that each program has besides the common ones.
var appFlags = map[string][]string{
	figures.HPCCG: {"nx", "ny", "nz", "iters", "matrix", "fused", "tasks", "only"},
	figures.GTC:   {"micell", "mpsi", "mthetamax", "mzetamax", "steps", "double", "tasks", "only"},
	"npb":         {"class", "double"},
	"hpcg":        {"nx", "ny", "nz", "sets", "double"},
	"minighost":   {"nx", "ny", "nz", "stencil", "vars", "steps", "double"},
	"amg":         {"nx", "ny", "nz", "problem", "solver", "double"},
}

// apps parses -app. HPCCG and GTC must be given alone; other programs may form a list. It
// rejects flags in fs that none of the programs has.
func apps(fs *flag.FlagSet, list string) ([]string, error) {
	names := strings.Split(list, ",")
	own := make(map[string]bool)
	for _, name := range names {
		flags, ok := appFlags[name]
		if slices.Contains(npbNames, name) {
			flags, ok = appFlags["npb"], true
		}
		if !ok || len(names) > 1 && (name == figures.HPCCG || name == figures.GTC) {
			return nil, fmt.Errorf("-app %s: want hpccg, gtc, or some of npb,%s", list, strings.Join(proxyNames, ","))
		}
		for _, f := range flags {
			own[f] = true
		}
	}
	var err error
	fs.Visit(func(f *flag.Flag) {
		for flags := range maps.Values(appFlags) {
			if slices.Contains(flags, f.Name) && !own[f.Name] {
				err = fmt.Errorf("-%s is not for -app %s", f.Name, list)
			}
		}
	})
	return names, err
}

// usual sets the options that were not given to the usual values for proxies. It sets points
// to 0.
func (f *proxyOptions) usual(fs *flag.FlagSet) {
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["rounds"] {
		f.rounds = 5
	}
	if !given["steps"] {
		f.steps = 20
	}
	for d, name := range []string{"nx", "ny", "nz"} {
		if !given[name] {
			f.points[d] = 0
		}
	}
}

// box returns the number of points of a native rank in each direction. A direction that was
// not given has edge points.
func (f *proxyOptions) box(edge int) (n [3]int) {
	for d := range n {
		n[d] = cmp.Or(f.points[d], edge)
	}
	return n
}
