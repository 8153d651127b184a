//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/intrahpc/intra/cmd/intrabench/internal/share"
)

func runShare(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("share")
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), "usage: intrabench share [flags] PROGRAM [args]\nPROGRAM is an executable built with the tag intra, or a Go package.")
		fs.PrintDefaults()
	}
	var o share.Options
	fs.IntVar(&o.Ranks, "n", 1, "ranks")
	fs.IntVar(&o.Replicas, "r", 2, "replicas of a rank")
	fs.IntVar(&o.Rounds, "rounds", 5, "how often every configuration runs, in turn")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := fs.Parse(args); err != nil {
		return usage(err)
	}
	switch {
	case fs.NArg() == 0:
		fs.Usage()
		return errUsage
	case o.Ranks < 1 || o.Rounds < 1:
		return errors.New("-n and -rounds must be at least 1")
	case o.Replicas < 2:
		return errors.New("-r must be at least 2: one replica has no peer to share with")
	}
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		return fmt.Errorf("make room for the programs: %w", err)
	}
	defer os.RemoveAll(dir)
	program, err := executable(ctx, dir, fs.Arg(0))
	if err != nil {
		return err
	}
	if o.Intrarun, err = findIntrarun(ctx, dir); err != nil {
		return err
	}
	o.Program = append([]string{program}, fs.Args()[1:]...)
	if !*quiet {
		o.Before = func(round int, config string) {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.Rounds, config)
		}
	}
	m, err := share.Measure(ctx, o)
	if err != nil {
		return err
	}
	m.Program[0] = fs.Arg(0)
	printMachine(out)
	if err := m.Table(out); err != nil {
		return err
	}
	return numbers.write(m)
}

// findIntrarun looks for intrarun beside this program and in PATH. If it finds none, it builds
// intrarun in dir: in the module of a program that has it as a tool, or in this repository.
func findIntrarun(ctx context.Context, dir string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "intrarun")
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
			return beside, nil
		}
	}
	if found, err := exec.LookPath("intrarun"); err == nil {
		return found, nil
	}
	name := filepath.Join(dir, "intrarun")
	if err := goBuild(ctx, name, "github.com/intrahpc/intra/cmd/intrarun"); err != nil {
		return "", fmt.Errorf("intrarun is neither beside intrabench nor in the path, and cannot be built here: %w", err)
	}
	return name, nil
}

// executable builds a program with the tag intra, unless program is an executable already.
func executable(ctx context.Context, dir, program string) (string, error) {
	if st, err := os.Stat(program); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
		return filepath.Abs(program)
	}
	name := filepath.Join(dir, "program")
	if err := goBuild(ctx, name, "-tags=intra", program); err != nil {
		return "", fmt.Errorf("%s is neither an executable file nor a Go package that can be built: %w", program, err)
	}
	return name, nil
}

func goBuild(ctx context.Context, out string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", out}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(text))
	}
	return nil
}
