//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
