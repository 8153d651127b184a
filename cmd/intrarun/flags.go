//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

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
	if err := o.refuse(true); err != nil {
		return nil, err
	}
	o.chooseDirect()
	o.warnOfOld(out)
	return &o.Config, nil
}

// read parses the flags, and returns the program and its arguments.
func (o *options) read(args []string) ([]string, error) {
	fs := flag.NewFlagSet("intrarun", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the caller prints the error once
	var wrong error
	for i := range table {
		fs.Var(&argument{row: &table[i], o: o, wrong: &wrong}, table[i].name, "")
	}
	fs.Func("vary", "", func(string) error {
		wrong = errors.New("-vary is a command of its own: write intravary -sets 4 -bits 1% intrarun [flags] PROGRAM [args]")
		return wrong
	})
	if err := fs.Parse(joinDirect(fs, args)); err != nil {
		if wrong != nil {
			err = wrong
		}
		return nil, err
	}
	return fs.Args(), nil
}

// bare is the argument of a flag that is given without an argument.
const bare = "true"

// argument implements flag.Value for one flag.
type argument struct {
	row   *row
	o     *options
	wrong *error // the error about an argument, in the words of this package
}

func (a *argument) String() string { return "" }

// IsBoolFlag reports whether the flag may be given without an argument.
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
