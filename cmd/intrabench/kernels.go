//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/intrahpc/intra/kernels"
	"github.com/intrahpc/intra/kernels/bench"
	"github.com/klauspost/cpuid/v2"
)

func runKernels(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("kernels")
	var o bench.Options
	var f format
	optionFlags(fs, args, &o, &f)
	list(fs, &o.Kernels, "kernel", "`names` of kernels, comma-separated (default all)")
	list(fs, &o.Sizes, "size", "`sizes` among "+strings.Join(bench.Sizes(), ",")+" (default all)")
	list(fs, &o.Elems, "elem", "float64,float32 (default both)")
	if err := parse(fs, args); err != nil {
		return err
	}
	f.tell(&o)
	results, err := bench.Vectors(ctx, o)
	if err != nil {
		return err
	}
	return f.write(out, results)
}

// format is the form of the output.
type format struct {
	json  *jsonFile
	quiet *bool
}

// optionFlags defines the flags that the measurements of kernels share.
func optionFlags(fs *flag.FlagSet, args []string, o *bench.Options, f *format) {
	fs.IntVar(&o.Rounds, "rounds", 15, "how often every variant is measured, in turn")
	list(fs, &o.Paths, "path", "`paths` among avx512,avx2,go (default all this CPU has)")
	f.json = jsonFlag(fs, args)
	f.quiet = quietFlag(fs)
}

// tell sets o.Before to print progress, unless quiet is set.
func (f format) tell(o *bench.Options) {
	if !*f.quiet {
		o.Before = func(what string, round int) { tellRound(what, round, o.Rounds) }
	}
}

func list(fs *flag.FlagSet, to *[]string, name, usage string) {
	fs.Func(name, usage, func(s string) error {
		*to = append(*to, strings.Split(s, ",")...)
		return nil
	})
}

func (f format) write(out io.Writer, results []bench.Result) error {
	fmt.Fprintf(out, "%s, %s; path in use: %s\n\n", cpuid.CPU.BrandName, runtime.Version(), kernels.Path())
	if err := bench.Table(out, results); err != nil {
		return err
	}
	return f.json.write(results)
}
