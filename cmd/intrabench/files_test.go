//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesUsage(t *testing.T) {
	for args, want := range map[string]string{
		"-size 0":          "-size, -calls and -rounds must be positive",
		"-calls 0":         "-size, -calls and -rounds must be positive",
		"-rounds 0":        "-size, -calls and -rounds must be positive",
		"-size 1 -calls 3": "-calls 3: half of 1 MB cannot be divided by it",
	} {
		require.EqualError(t, run(t.Context(), strings.Fields("files "+args), nil, nil), want)
	}
	require.ErrorIs(t, run(t.Context(), []string{"files", "more"}, nil, nil), errUsage)
	require.ErrorContains(t, run(t.Context(), []string{filesPlain.name, "-name", "x"}, nil, nil), "want the number of the process")
}
