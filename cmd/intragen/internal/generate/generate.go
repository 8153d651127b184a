package generate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options selects the packages and the action.
type Options struct {
	Dir      string   // folder to which the patterns are relative
	Patterns []string // patterns of packages, as for the go command
	Check    bool     // write nothing, and list the outputs that are not up to date
	Diff     bool     // write nothing, and print the changes
	Verbose  bool     // print the state of each output
	Stdout   io.Writer
	Stderr   io.Writer
}

// Run generates. It returns false if the sources are wrong, or if Check or Diff found a
// difference; it prints the problems to Stderr. An error means that Run could not do its work.
func Run(ctx context.Context, o Options) (bool, error) {
	prog, err := load(ctx, o.Dir, o.Patterns)
	if err != nil {
		return false, err
	}
	c, err := check(prog)
	if err != nil {
		return false, err
	}
	if len(c.diags) > 0 {
		show(o, c.diags)
		return false, nil
	}
	outputs, diags, err := c.plan()
	if err != nil {
		return false, err
	}
	if len(diags) > 0 {
		show(o, diags)
		return false, nil
	}
	if o.Check || o.Diff {
		return report(o, outputs), nil
	}
	return true, write(o, outputs)
}

func show(o Options, diags []Diagnostic) {
	for _, d := range diags {
		fmt.Fprintln(o.Stderr, d.Show(o.Dir))
	}
}

// report lists the changes that a normal run would make. It returns true if there are none.
func report(o Options, outputs []output) bool {
	ok := true
	for _, out := range outputs {
		name := filepath.ToSlash(relative(o.Dir, out.path))
		if out.state == current {
			if o.Verbose {
				fmt.Fprintf(o.Stderr, "%s: current\n", name)
			}
			continue
		}
		ok = false
		if o.Check {
			fmt.Fprintf(o.Stdout, "%s: %s\n", name, out.state)
		}
		if o.Diff {
			io.WriteString(o.Stdout, unified(name, out.old, out.text))
		}
	}
	return ok
}

// write writes the outputs that change. A reader never sees a partially written file.
func write(o Options, outputs []output) error {
	for _, out := range outputs {
		name := relative(o.Dir, out.path)
		done := string(out.state)
		switch out.state {
		case current:
		case orphan:
			if err := os.Remove(out.path); err != nil {
				return fmt.Errorf("remove what has no source any more: %w", err)
			}
			done = "removed"
		default:
			if err := replaceFile(out.path, out.text); err != nil {
				return err
			}
			done = "written"
		}
		if o.Verbose {
			fmt.Fprintf(o.Stderr, "%s: %s\n", name, done)
		}
	}
	return nil
}

func replaceFile(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".intragen-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(tmp.Name(), path)
}
