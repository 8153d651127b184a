//go:build linux && system

package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/notice"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// The command measures real jobs on two hosts, each once. The measured times are not checked.
func TestNotice(t *testing.T) {
	netns.TestPair(t).Close()
	dir := t.TempDir()
	file, plot := filepath.Join(dir, "n.json"), filepath.Join(dir, "n.svg")
	require.NoError(t, run(t.Context(), []string{"notice", "-quiet", "-json", file, "-plot", plot, "-size", "1", "-moves", "2", "-rounds", "1"}, io.Discard, nil))
	var m notice.Measurement
	readResult(t, file, &m)
	require.Len(t, m.Moves, 1)
	require.Len(t, m.Moves[0].Stalls, 2)
	require.Positive(t, m.Moves[0].Stall.Median)
	require.Greater(t, m.Moves[0].Notice.Median, m.Moves[0].Stall.Median)
	require.Positive(t, m.Moves[0].Bandwidth)
	require.Positive(t, m.Join.Alone.Median)
	require.Positive(t, m.Join.Ratio.Median)
	require.FileExists(t, plot)
}
