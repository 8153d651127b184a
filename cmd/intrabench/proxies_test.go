//go:build linux

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// whole runs a command with -json and -plot on small real jobs, each once. The measured times
// are not checked. It reads the measurements into all, and returns the output of the command.
func whole(t *testing.T, args string, all any) string {
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), append(strings.Fields(args), "-rounds", "1", "-quiet", "-json", dir+"/p.json", "-plot", dir+"/p.svg"), &out, os.Stderr))
	readResult(t, dir+"/p.json", all)
	require.FileExists(t, dir+"/p.svg")
	return out.String()
}

func TestProxy(t *testing.T) {
	inMatrix(t) // TestPapers, which `make system` runs, runs a proxy, too
	var all []struct {
		Trials []struct {
			Config string
			Bits   string `json:"state_sha256"`
		}
	}
	out := whole(t, "figures -app minighost -stencil 3d27 -nx 8 -ny 8 -nz 8 -vars 1 -steps 2 -limits 100MB/s", &all)
	for _, part := range []string{"minighost 3d27: -nx 8 ", "\ntotal ", "send at 100MB/s    1 x 2", "WARNING: quartiles of 1 rounds"} {
		require.Contains(t, out, part)
	}
	require.Len(t, all[0].Trials, 7)
	for _, trial := range all[0].Trials {
		require.Len(t, trial.Bits, 64)
	}
}

func TestProxyUsage(t *testing.T) {
	for args, want := range map[string]string{
		"figures -app npb -class D":        "-class D: want S, W, A, B or C",
		"figures -app cg,lu":               "-app cg,lu: want hpccg, gtc, or some of npb,ep,cg,is,mg,ft,bt,sp,hpcg,minighost,amg",
		"figures -app cg,gtc":              "-app cg,gtc: want hpccg, gtc, or some of npb",
		"figures -app npb -rounds 0":       "-rounds must be at least 1",
		"figures -app hpcg -plot f.gif":    "-plot f.gif",
		"figures -app hpcg -hosts -double": "-hosts is not for -double",
		"figures -app amg -limits fast":    `"fast" is not a bandwidth`,
		"figures -app amg,hpcg -vars 2":    "-vars is not for -app amg,hpcg",
		"figures -app ep -nx 2":            "-nx is not for -app ep",
		"papers -parts sdr,figure5":        "-parts sdr,figure5: want some of sdr,figure6,partreper,forecast",
		"papers -programs lu":              "-programs lu: want some of ep,cg,is,mg,ft,bt,sp,hpcg,minighost,amg",
		"papers -plot f.svg -parts sdr":    "-plot draws figure 6",
		"papers -plot f.svg -programs is":  "-plot draws figure 6",
		"papers -class X":                  "-class X",
		"papers -n 20":                     "-n must be a multiple of 8",
		"papers -ranks 0":                  "-ranks must be at least 1",
		"papers -rounds 0":                 "-rounds must be at least 1",
		"papers -plot f.gif":               "-plot f.gif",
		"papers -limits fast":              `"fast" is not a bandwidth`,
		"figures -app minighost -steps":    "usage",
	} {
		t.Run(args, func(t *testing.T) {
			require.ErrorContains(t, run(t.Context(), strings.Fields(args), nil, nil), want)
		})
	}
}
