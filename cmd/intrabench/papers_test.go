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

// Whole calls, of real jobs, once each: the times mean nothing.
func TestPapers(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	args := strings.Fields("papers -programs is,minighost -class S -n 16 -rounds 1 -quiet -limits 1GB/s")
	require.NoError(t, run(t.Context(), append(args, "-json", dir+"/p.json", "-plot", dir+"/p.svg"), &out, nil))
	for _, part := range []string{"Table 1", "Figure 6 of", "PartRePer", "E measured against E forecast", "send at 1GB/s", "is S ", "minighost 3d27"} {
		require.Contains(t, out.String(), part)
	}
	b, err := os.ReadFile(dir + "/p.json")
	require.NoError(t, err)
	var all struct {
		SDR, PartRePer, Figure6, Programs []json.RawMessage
		Forecasts                         []struct{ Program, Kernel string }
	}
	require.NoError(t, json.Unmarshal(b, &all))
	require.Equal(t, []int{1, 1, 1, 2}, []int{len(all.SDR), len(all.PartRePer), len(all.Figure6), len(all.Programs)})
	require.NotEmpty(t, all.Forecasts)
	require.FileExists(t, dir+"/p.svg")

	out.Reset()
	require.NoError(t, run(t.Context(), strings.Fields("npb -class S -programs is -rounds 1 -quiet -double"), &out, nil))
	require.Contains(t, out.String(), "is S: -class S; native on one core, the others on two, 1 rounds in alternation")
}
