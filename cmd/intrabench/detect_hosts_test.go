//go:build linux && system

package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/detection"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// The command measures real jobs on hosts, each once. The measured times are not checked.
func TestDetect(t *testing.T) {
	netns.Test(t, 1).Close()
	file := filepath.Join(t.TempDir(), "d.json")
	require.NoError(t, run(t.Context(), strings.Fields("detect -quiet -json "+file+" -rounds 1 -runs 1 -time 3s"), io.Discard, nil))
	var m detection.Measurement
	readResult(t, file, &m)
	require.Len(t, m.Losses, 4)
	for _, l := range m.Losses {
		require.Len(t, l.Seconds, 1, l.Loss)
	}
	require.Positive(t, m.Cost.UsualShare.Median)
	require.Positive(t, m.Cost.Usual[0].Datagrams)
	require.Positive(t, m.Cost.Rare[0].Datagrams)
}
