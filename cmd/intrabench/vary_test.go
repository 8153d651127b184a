//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/vary"
)

// TestVary prints and draws a report. A wrong report gives an error that describes it.
func TestVary(t *testing.T) {
	dir, digits := t.TempDir(), 12.5
	v := vary.Variance{Name: "temperature", Set: 1, Numbers: 100, Digits: &digits, MeanDigits: &digits, Least: &digits,
		Course: []vary.Step{{SafePoint: 1, Digits: 15}, {SafePoint: 2, Digits: 12.5}}}
	write := func(name string, r *vary.Result) string {
		file := filepath.Join(dir, name)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file
	}
	varied := write("varied.json", &vary.Result{Version: vary.Version, Spec: "-sets 2 -bits 0.01", SafePoints: 2, Variables: []vary.Variance{v}, Sets: []vary.Set{{Set: 1, Variables: []vary.Variance{v}}}})
	plot := filepath.Join(dir, "digits.svg")
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"vary", "-plot", plot, varied}, &out, &out))
	require.Regexp(t, `temperature +100 +12.5 +12.5 +12.5 +- +1`, out.String())
	drawn, err := os.ReadFile(plot)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "temperature, set 1: 12.5 digits at the end")

	for want, args := range map[string][]string{
		"wants one report":      {"vary"},
		"ends in .svg":          {"vary", "-plot", "x.gif", varied},
		"is no report":          {"vary", write("other.json", &vary.Result{})},
		"read the report: open": {"vary", filepath.Join(dir, "none.json")},
	} {
		require.ErrorContains(t, run(t.Context(), args, &out, &out), want)
	}
}
