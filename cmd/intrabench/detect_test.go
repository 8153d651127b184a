package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/detection"
	"github.com/intrahpc/intra/internal/netns"
)

func TestDetectUsage(t *testing.T) {
	for flag, want := range map[string]string{
		"-rounds=-1": "must not be negative",
		"-runs=-1":   "must not be negative",
		"-time=0s":   "must be positive",
		"-rarer=1":   "want 2 to 20",
		"-rarer=21":  "want 2 to 20",
	} {
		require.ErrorContains(t, run(t.Context(), []string{"detect", flag}, nil, nil), want)
	}
	require.ErrorContains(t, run(t.Context(), strings.Fields("detect -rounds 0 -runs 0"), nil, nil), "nothing to measure")
	require.ErrorIs(t, run(t.Context(), []string{"detect", "more"}, nil, nil), errUsage)
	if os.Geteuid() != 0 {
		require.ErrorContains(t, run(t.Context(), []string{"detect"}, nil, nil), "as root")
	}
}

// A whole call, of real jobs on hosts, once each: the times mean nothing.
func TestDetect(t *testing.T) {
	netns.Test(t, 1).Close()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), strings.Fields("detect -quiet -json -rounds 1 -runs 1 -time 1s"), &out, nil))
	var m detection.Measurement
	require.NoError(t, json.Unmarshal(out.Bytes(), &m))
	require.Len(t, m.Losses, 4)
	for _, l := range m.Losses {
		require.Len(t, l.Seconds, 1, l.Loss)
	}
	require.Positive(t, m.Cost.UsualShare.Median)
	require.Greater(t, m.Cost.Usual[0].Datagrams, m.Cost.Rare[0].Datagrams)
}
