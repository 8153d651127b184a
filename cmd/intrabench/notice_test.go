//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoticeUsage(t *testing.T) {
	for flags, want := range map[string]string{
		"-size 0":           "want numbers from 1",
		"-size 1,x":         "want numbers from 1",
		"-moves 0":          "-moves must be positive",
		"-rounds -1":        "must not be negative",
		"-size= -rounds 0":  "nothing to measure",
		"-rounds 0 -plot x": "-plot draws the job that a host joins",
		"-plot x.txt":       "want a name that ends in",
	} {
		require.ErrorContains(t, run(t.Context(), append([]string{"notice"}, strings.Fields(flags)...), nil, nil), want, flags)
	}
	require.ErrorIs(t, run(t.Context(), []string{"notice", "more"}, nil, nil), errUsage)
	if os.Geteuid() != 0 {
		require.ErrorContains(t, run(t.Context(), []string{"notice"}, nil, nil), "as root")
	}
}
