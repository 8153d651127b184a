//go:build linux && system

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPapers(t *testing.T) {
	var all struct {
		SDR, PartRePer, Figure6, Programs []json.RawMessage
		Forecasts                         []struct{ Program, Kernel string }
	}
	out := whole(t, "papers -programs is,minighost -class S -n 16 -limits 1GB/s", &all)
	for _, part := range []string{"Table 1", "Figure 6 of", "PartRePer", "E measured against E forecast", "send at 1GB/s", "is S ", "minighost 3d27"} {
		require.Contains(t, out, part)
	}
	require.Equal(t, []int{1, 1, 1, 2}, []int{len(all.SDR), len(all.PartRePer), len(all.Figure6), len(all.Programs)})
	require.NotEmpty(t, all.Forecasts)
}

// The papers contain no figures for a program of another suite.
func TestTwiceTheCores(t *testing.T) {
	inMatrix(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), strings.Fields("figures -app is -class S -rounds 1 -quiet -double"), &out, os.Stderr))
	require.Contains(t, out.String(), "is S: -class S; native on one core, the others on two, 1 rounds in alternation")
}
