//go:build linux

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
)

// The command measures small real jobs. The measured times are not checked.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	args := strings.Fields("figures -nx 6 -ny 6 -nz 6 -iters 5 -tasks 4 -rounds 2 -quiet -limits 200,1000MB/s")
	require.NoError(t, run(t.Context(), append(args, "-json", dir+"/f.json", "-plot", dir+"/f.svg"), &out, nil))
	for _, part := range []string{"Figure 5a, waxpby", "Figure 5b", "send at 200MB/s", "send at 1000MB/s", "< 0.50", "V/T, GB/s", "Decisions over the bandwidth"} {
		require.Contains(t, out.String(), part)
	}
	var m struct {
		Rows   []struct{ Kernel, Config string }
		Models []struct{ Bytes float64 }
		Trials []struct {
			Config, XSHA256 string
			Samples         map[string]struct {
				Seconds     float64
				UpdateBytes float64 `json:"update_bytes"`
			}
		}
	}
	readResult(t, dir+"/f.json", &m)
	require.Len(t, m.Trials, 18)
	require.Len(t, m.Rows, 45)
	// The 4 passes work on 6 x 6 x 12 points. Each update of waxpby is sent once.
	const waxpby, sparsemv, bytes = 2 + 3*4, 1 + 4, 8 * 6 * 6 * 12
	require.Len(t, m.Models, 4)
	require.EqualValues(t, waxpby*bytes, m.Models[1].Bytes)
	require.EqualValues(t, sparsemv*bytes, m.Models[3].Bytes)
	for _, trial := range m.Trials {
		if trial.Config == "replicated" || trial.Config == "native" {
			require.Zero(t, trial.Samples["waxpby"].UpdateBytes)
		}
	}
	require.FileExists(t, filepath.Join(dir, "f.svg"))
}

func TestHPCCGFused(t *testing.T) {
	inMatrix(t)
	var out bytes.Buffer
	args := strings.Fields("figures -fused -nx 6 -ny 6 -nz 6 -iters 5 -rounds 1 -quiet -limits 1GB/s -plot")
	plot := filepath.Join(t.TempDir(), "f.svg")
	require.NoError(t, run(t.Context(), append(args, plot), &out, nil))
	require.Contains(t, out.String(), "HPCCG -fused, 6 x 6 x 6 points")
	require.Regexp(t, `(?m)^Figure 5a, sparsemv with inner products`, out.String())
	require.NotRegexp(t, `(?m)^(Figure 5a, )?ddot`, out.String())
	require.FileExists(t, plot)
}

func TestFiguresUsage(t *testing.T) {
	for args, want := range map[string]string{
		"figures -nx 0":                   "-nx, -ny and -nz must be at least 1",
		"figures -iters 1":                "-iters must be at least 2",
		"figures -rounds 0":               "-rounds must be at least 1",
		"figures -tasks -1":               "-tasks must not be negative",
		"figures -only native,none":       "want some of native,replicated,static,send,auto",
		"figures -app gtc -only auto,x":   "want some of native,replicated,static,send,auto",
		"figures -limits 1,2":             `"1" is not a bandwidth`,
		"figures -limits 1,,2GB/s":        `"GB/s" is not a bandwidth`,
		"figures -app lu":                 "-app lu: want hpccg, gtc, or some of npb",
		"figures -app gtc -nx 4":          "-nx is not for -app gtc",
		"figures -app gtc -matrix csr":    "-matrix is not for -app gtc",
		"figures -app gtc -fused":         "-fused is not for -app gtc",
		"figures -app gtc -hosts -double": "-hosts is not for -double",
		"figures -app gtc -limits fast":   `"fast" is not a bandwidth`,
		"figures -double":                 "-double is not for -app hpccg",
		"figures -app gtc -steps 0":       "-steps must be at least 1",
		"figures -app gtc -mpsi 3":        "-mpsi must be even",
		"figures -app gtc -mzetamax 1":    "-mzetamax must be even",
		"figures -app gtc -plot f.gif":    "-plot f.gif",
		"figures -plot f.gif":             "-plot f.gif",
		"hpccg -peer-time x":              "-peer-time needs -peer",
		"hpccg -peer true -peer-time x":   "want a group",
		"hpccg -peer true -peer-time (x":  "missing closing )",
		"hpccg -rounds 1 -peer false -nz": "usage",
	} {
		t.Run(args, func(t *testing.T) {
			require.ErrorContains(t, run(t.Context(), strings.Fields(args), nil, nil), want)
		})
	}
}

func TestOnly(t *testing.T) {
	c, err := figures.Limited("3GB/s")
	require.NoError(t, err)
	all := append([]figures.Config{figures.Native, figures.Send}, figures.Beside(c)...)
	some, err := only(all, "native at 3GB/s,send at 3GB/s,native")
	require.NoError(t, err)
	require.Equal(t, []figures.Config{all[2], all[3], all[0]}, some)
	some, err = only(all, "")
	require.NoError(t, err)
	require.Equal(t, all, some)
	_, err = only(all, "native,send at 3GB/s")
	require.ErrorContains(t, err, `compared with "native at 3GB/s", which is not in it`)
}

func TestSplitLimits(t *testing.T) {
	for list, want := range map[string][]string{
		"":                  nil,
		"1GB/s":             {"1GB/s"},
		"0.5, 1,2.5GB/s":    {"0.5GB/s", "1GB/s", "2.5GB/s"},
		"800MB/s,2GB/s":     {"800MB/s", "2GB/s"},
		"100,200MB/s,3,4GB": {"100GB", "200MB/s", "3GB", "4GB"},
	} {
		require.Equal(t, want, splitLimits(list), list)
	}
}
