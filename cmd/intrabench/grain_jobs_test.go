//go:build linux && system

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/grain"
)

// The command measures small jobs, each once. The measured times are not checked.
func TestGrain(t *testing.T) {
	peer := filepath.Join(t.TempDir(), "peer")
	require.NoError(t, os.WriteFile(peer, []byte("#!/bin/sh\nshift 4\nfor w; do echo $w $w; done\n"), 0o700))
	var all struct{ Grain []grain.Summary }
	out := whole(t, "grain -work 10us,100us -time 1ms -peer "+peer, &all)
	require.Len(t, all.Grain, len(grain.Ways)+len(grain.Peers))
	for _, r := range all.Grain {
		require.True(t, r.Way == grain.Ways[0].Name || strings.Contains(out, "\n  "+r.Way+" "), r.Way)
		require.Len(t, r.Sizes, 2)
	}
}

// Each pattern is measured in each way, once, and has the same values in all.
func TestTaskbench(t *testing.T) {
	var all struct{ Taskbench []grain.GraphSummary }
	name := filepath.Join(t.TempDir(), "p.json")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), strings.Fields("grain -taskbench -width 4 -iters 8,2 -time 1ms -rounds 1 -quiet -json "+name), &out, os.Stderr))
	readResult(t, name, &all)
	require.Len(t, all.Taskbench, len(grain.Patterns)*len(grain.GraphWays))
	for _, g := range all.Taskbench {
		require.Contains(t, out.String(), "\n"+g.Pattern+"\n")
		require.Len(t, g.Sizes, 2)
		require.Equal(t, 8, g.Sizes[1].Iters)
		require.Positive(t, g.Sizes[1].Efficiency.Median)
	}
}
