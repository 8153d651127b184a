package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// Flags are those of an example: -tasks, -json and its own.
type Flags struct {
	*flag.FlagSet
	tasks *int
}

// NewFlags declares -tasks, whose default is in the variable, and -json.
func NewFlags(tasks *int, usage string, json *bool) *Flags {
	f := &Flags{flag.NewFlagSet(os.Args[0], flag.ExitOnError), tasks}
	f.IntVar(tasks, "tasks", *tasks, usage)
	f.BoolVar(json, "json", false, "print one line of JSON and nothing else")
	return f
}

// Parse reads the command line. A flag that is wrong ends the process.
func (f *Flags) Parse() error {
	_ = f.FlagSet.Parse(os.Args[1:])
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	case *f.tasks < 1:
		return errors.New("-tasks must be at least 1")
	}
	return nil
}

// Program returns the program that reads its settings and runs with them. It
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
