//go:build linux

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScaleUsage(t *testing.T) {
	for args, want := range map[string]string{
		"-processes 6 -r 4": `"6" is no multiple of 4 replicas with two ranks or more`,
		"-processes 4,2":    `"2" is no multiple of 2 replicas with two ranks or more`,
		"-processes many":   `"many" is no multiple`,
		"-rest 1ms":         "-rest at least 1s",
		"-plot scale.gif":   "want a name that ends in .svg, .png or .pdf",
		"-messages 0":       "-messages must be positive",
	} {
		require.ErrorContains(t, run(t.Context(), append([]string{"scale"}, strings.Fields(args)...), io.Discard, io.Discard), want)
	}
}
