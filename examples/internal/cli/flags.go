package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// Flags are the flags of an example: -json, its own, and usually -tasks.
type Flags struct {
	*flag.FlagSet
	tasks *int
}

// NewFlags declares -json, and -tasks unless tasks is nil. The default of -tasks is the value
// of the variable.
func NewFlags(tasks *int, usage string, json *bool) *Flags {
	f := &Flags{flag.NewFlagSet(os.Args[0], flag.ExitOnError), tasks}
	if tasks != nil {
		f.IntVar(tasks, "tasks", *tasks, usage)
	}
	f.BoolVar(json, "json", false, "print one line of JSON and nothing else")
	return f
}

// Parse reads the command line. If a flag is wrong, it ends the process.
func (f *Flags) Parse() error {
	_ = f.FlagSet.Parse(os.Args[1:])
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	case f.tasks != nil && *f.tasks < 1:
		return errors.New("-tasks must be at least 1")
	}
	return nil
}

// Program returns a program that reads its settings by parse, and calls run with them. It
// reads them again when the job rolls back to a backup.
func Program[P, S any](parse func() (S, error), run func(P, S) error) func(P) error {
	return func(p P) error {
		s, err := parse()
		if err != nil {
			return err
		}
		return run(p, s)
	}
}
