//go:build linux && system

package main

import (
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
