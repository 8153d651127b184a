//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGrainUsage(t *testing.T) {
	for args, want := range map[string]string{
		"-work 1us,soon":        "-work 1us,soon: want durations in ascending order, like 1us,10us",
		"-work 10us,1us":        "-work 10us,1us: want durations in ascending order, like 1us,10us",
		"-work 0s":              "-work 0s: want durations in ascending order, like 1us,10us",
		"-bytes 12":             "-tasks, -time and -rounds must be positive, and -bytes a multiple of 8",
		"-tasks 0":              "-tasks, -time and -rounds must be positive, and -bytes a multiple of 8",
		"-taskbench -iters 4,8": "-iters 4,8: want numbers in descending order, like 100,10",
		"-taskbench -bytes 8":   "-bytes is not for -taskbench",
		"-taskbench -width 0":   "-width, -time and -rounds must be positive",
		"-plot grain.jpeg":      "-plot grain.jpeg: want a name that ends in .svg, .png or .pdf",
	} {
		require.EqualError(t, run(t.Context(), strings.Fields("grain "+args), nil, nil), want)
	}
}
