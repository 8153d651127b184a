//go:build linux

package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/launch"
)

// findLauncher returns the role of this process under a launcher. It returns nil if no
// launcher has started the process. alone is the value of -alone, or nil.
func findLauncher(alone *bool, notice func(text string)) (*launcher.Process, error) {
	if alone != nil && *alone {
		return nil, nil
	}
	p, err := launcher.Find(os.Getenv)
	if p == nil || err != nil {
		return nil, err
	}
	if alone != nil {
		p.Sure = true
	} else if why := p.LeftOver(); why != "" {
		notice("warning: " + why + "; the job runs without it, as with -alone")
		return nil, nil
	}
	p.Notice = notice
	return p, nil
}

// meet finds the other processes that a launcher has started. A signal ends the search and
// cleans up.
func meet(p *launcher.Process, head string) (*spawn.Indexed, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	go func() {
		select {
		case s := <-signals:
			cancel(spawn.Interrupted{Signal: s, While: "waiting for the other processes of " + p.Launcher})
		case <-ctx.Done():
		}
	}()
	x, err := launch.Launched(ctx, p, head)
	if why := context.Cause(ctx); err != nil && why != nil {
		return nil, why
	}
	return x, err
}

// repeats reports whether another process of a launcher prints the same error as this one.
// This process has failed before it knew the other processes.
func repeats(args []string) bool {
	alone := func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "alone") }
	p, err := launcher.Find(os.Getenv)
	return err == nil && p != nil && p.Rank > 0 && !slices.ContainsFunc(args, alone) && p.LeftOver() == ""
}

// managed reports whether Slurm or Kubernetes runs this process. They send SIGTERM some time before
// they take a host away.
func managed(getenv func(string) string) bool {
	return getenv("SLURM_JOB_ID") != "" || getenv("KUBERNETES_SERVICE_HOST") != ""
}
