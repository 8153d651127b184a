//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/intrahpc/intra/internal/launch"
)

// parse reads the command line, without the name of the command.
func parse(args []string, out io.Writer) (*launch.Config, error) {
	o := newOptions()
	rest, err := o.read(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, help())
		return nil, err
	case err != nil:
		return nil, err
	}
	if o.Vary != nil {
		given := make(map[string]bool)
		for name := range o.given {
			given[name] = true
		}
		if err := checkVaried(given, &o.replicas); err != nil {
			return nil, err
		}
		if o.Vary.Seed = o.seed; !o.has("seed") {
			o.Vary.Seed = rand.Uint64() >> 16 // that people can type
		}
	}
	switch {
	case o.has("version"):
		return nil, errors.New("-version is given alone")
	case len(rest) == 0:
		return nil, errors.New("no program given: usage is intrarun [flags] PROGRAM [args]")
	case rest[0] == "":
		return nil, errors.New("the name of the program is empty")
	}
	o.Program = rest
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := o.refuse(false); err != nil {
		return nil, err
	}
	if err := o.place(out); err != nil {
		return nil, err
	}
	if o.Vary != nil && o.Placement != nil {
		return nil, errors.New("-vary runs all sets on this host, and there are others: run it outside the allocation or the launcher")
	}
	if err := o.refuse(true); err != nil {
		return nil, err
	}
	o.chooseDirect()
	o.warnOfOld(out)
	return &o.Config, nil
}

// read reads the flags, and returns the program and its arguments.
func (o *options) read(args []string) ([]string, error) {
	fs := flag.NewFlagSet("intrarun", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // our caller prints the error, once
	var wrong error
	for i := range table {
		fs.Var(&argument{row: &table[i], o: o, wrong: &wrong}, table[i].name, "")
	}
	if err := fs.Parse(joinDirect(fs, args)); err != nil {
		if wrong != nil {
			err = wrong
		}
		return nil, err
	}
	return fs.Args(), nil
}

// bare is the argument of a flag that stands without one.
const bare = "true"

// argument takes what stands behind one flag.
type argument struct {
	row   *row
	o     *options
	wrong *error // why an argument is refused, in our words
}

func (a *argument) String() string { return "" }

// IsBoolFlag reports whether the flag may stand alone.
func (a *argument) IsBoolFlag() bool { return a.row.arg == "" || a.row.optional }

func (a *argument) Set(text string) error {
	r := a.row
	if err := r.set(a.o, text); err != nil {
		shown := text
		if text == "" {
			shown = `""`
		}
		*a.wrong = fmt.Errorf("-%s %s: %w", r.name, shown, err)
		return err
	}
	if r.repeats {
		a.o.given[r.name] = append(a.o.given[r.name], text)
	} else {
		a.o.given[r.name] = []string{text}
	}
	return nil
}
