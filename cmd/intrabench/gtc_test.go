//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The command measures small real jobs. The measured times are not checked.
func TestFiguresGTC(t *testing.T) {
	inMatrix(t) // TestPapers, which `make system` runs, measures GTC, too
	for double, configs := range map[string]int{"": 5, " -double -limits 200MB/s": 7} {
		t.Run(strings.TrimSpace(double), func(t *testing.T) {
			dir := t.TempDir()
			var out bytes.Buffer
			args := strings.Fields("figures -app gtc -micell 2 -mpsi 10 -mthetamax 24 -steps 1 -tasks 4 -rounds 1 -quiet" + double)
			require.NoError(t, run(t.Context(), append(args, "-json", dir+"/f.json", "-plot", dir+"/f.svg"), &out, nil))
			for _, part := range []string{"Figure 6c, push", "Figure 6c, charge", "Figure 6c, total", "> 0.70", "copies of inout variables"} {
				require.Contains(t, out.String(), part)
			}
			var m struct {
				Doubled bool
				Rows    []struct{ Kernel, Config string }
				Links   []struct {
					Task, Config string
					Half         float64 `json:"half_seconds"`
					Transfer     float64 `json:"transfer_seconds"`
				}
				Trials []struct {
					Config  string
					State   string `json:"state_sha256"`
					Samples map[string]struct {
						UpdateBytes float64 `json:"update_bytes"`
					}
				}
				InOut []struct{ Way string }
			}
			readResult(t, dir+"/f.json", &m)
			require.Equal(t, strings.Contains(double, "-double"), m.Doubled)
			require.Equal(t, configs > 5, strings.Contains(out.String(), "send at 200MB/s"))
			require.Len(t, m.Trials, configs)
			require.Len(t, m.Rows, 3*configs)
			require.NotEmpty(t, m.InOut)
			require.Equal(t, configs > 5, len(m.Links) > 0)
			for _, l := range m.Links {
				require.Positive(t, l.Half, l.Task)
				require.Equal(t, l.Config != "send", l.Transfer > 0, "%s, %s", l.Task, l.Config)
			}
			for _, trial := range m.Trials {
				require.Len(t, trial.State, 64)
				if trial.Config == "static" {
					require.Positive(t, trial.Samples["push"].UpdateBytes, trial.Config)
					require.Positive(t, trial.Samples["charge"].UpdateBytes, trial.Config)
				} else if trial.Config == "native" || trial.Config == "replicated" {
					require.Zero(t, trial.Samples["push"].UpdateBytes, trial.Config)
				}
			}
			require.FileExists(t, dir+"/f.svg")
		})
	}
}
