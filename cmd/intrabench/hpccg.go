//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"regexp"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
)

func runHPCCG(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("hpccg")
	var pr figures.Problem
	var rounds int
	problemFlags(fs, &pr, &rounds)
	command := fs.String("peer", "", "also run the shell `command` in every round, and print the ratio; for the same global problem on two ranks it solves -nz points in z on each")
	pattern := fs.String("peer-time", "", "`regexp` whose first group is the time in seconds in the command's output (default: its wall time)")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	if err := checkProblem(pr, rounds); err != nil {
		return err
	}
	configs := []figures.Config{figures.Native, figures.Replicated, figures.Send, figures.Auto}
	peer := figures.Peer{Command: *command}
	if *pattern != "" {
		if *command == "" {
			return fmt.Errorf("-peer-time needs -peer")
		}
		var err error
		if peer.Time, err = regexp.Compile(*pattern); err != nil {
			return fmt.Errorf("-peer-time: %w", err)
		}
		if peer.Time.NumSubexp() < 1 {
			return fmt.Errorf("-peer-time %s: want a group that holds the time, like 'Time: *([0-9.]+)'", *pattern)
		}
	}
	programs, err := figures.Build(ctx, figures.HPCCG)
	if err != nil {
		return err
	}
	defer programs.Remove()
	run := programs.Run
	if *command != "" {
		configs = append(configs, figures.PeerConfig)
		run = peer.Beside(run)
	}
	m, err := figures.Measure(ctx, run, pr, rounds, configs, progress(*quiet, rounds))
	if err != nil {
		return err
	}
	if err := m.PeerTable(out); err != nil {
		return err
	}
	return numbers.write(m)
}
