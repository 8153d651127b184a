//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
)

var taskEnder = intra.Register("test.ender")

// endHere is a program that ends its goroutine in the given way.
func endHere(p *intra.Process, way string) error {
	switch way {
	case "program":
		runtime.Goexit()
	case "task":
		s := p.Section()
		for range 4 {
			s.Launch(taskEnder, func() { runtime.Goexit() })
		}
		return s.End()
	case "once":
		_, err := intra.Once(p, func() (int, error) { runtime.Goexit(); return 0, nil })
		return err
	}
	return errors.New("no such way")
}

// A program that ends its goroutine by runtime.Goexit fails, alone and in a job. The error
// names the place.
func TestGoexit(t *testing.T) {
	for way, want := range map[string]string{
		"program": "the program called runtime.Goexit (intrarun/goexit_test.go:",
		"task":    "task test.ender, launched at intrarun/goexit_test.go:",
		"once":    "the function of the intra.Once called at intrarun/goexit_test.go:",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(os.Args[0], asEnder, way).CombinedOutput()
			exit, ok := errors.AsType[*exec.ExitError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, 1, exit.ExitCode(), "%s", out)
			require.Contains(t, string(out), "error: "+want)
			for _, flags := range []string{"-r 1", "-r 2", "-r 2 -threads 2"} {
				r := runJob(t, flags, os.Args[0], asEnder, way)
				require.Equal(t, 1, r.code, r.stderr)
				require.Contains(t, r.stderr, "error: "+want)
				require.Contains(t, r.Error, want)
			}
		})
	}
}
