//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecoveryUsage(t *testing.T) {
	for flag, want := range map[string]string{
		"-rounds=0":   "must be positive",
		"-time=0s":    "must be positive",
		"-failures=0": "must be positive",
		"-nx=0":       "must be positive",
	} {
		require.ErrorContains(t, run(t.Context(), []string{"recovery", flag}, nil, nil), want)
	}
	require.ErrorIs(t, run(t.Context(), []string{"recovery", "-nz=64,x"}, nil, nil), errUsage)
	_, err := parseSizes("64,0")
	require.ErrorContains(t, err, `"0" is not a number of points`)
	sizes, err := parseSizes("64, 128")
	require.NoError(t, err)
	require.Equal(t, []int{64, 128}, sizes)
}
