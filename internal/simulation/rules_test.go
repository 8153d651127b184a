package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRulesStand looks for the text of every rule in the machines, where it has
// to be once: the table says what is there.
func TestRulesStand(t *testing.T) {
	for _, r := range slices.Concat(rules, unshown) {
		t.Run(r.name, func(t *testing.T) {
			_, err := r.without()
			require.NoError(t, err)
		})
	}
}

// TestRulesAreNeeded takes every rule out of its machine in turn, and runs the
// simulation with what is left: it must fail within 10,000 jobs. It takes long,
// and runs for the rules whose names INTRA_RULES matches.
func TestRulesAreNeeded(t *testing.T) {
	names := os.Getenv("INTRA_RULES")
	if names == "" {
		t.Skip("INTRA_RULES=. takes every rule out in turn")
	}
	wanted, err := regexp.Compile(names)
	require.NoError(t, err)
	for _, r := range slices.Concat(rules, unshown) {
		if !wanted.MatchString(r.file + ": " + r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			out, found := r.simulate(t, t.TempDir())
			if slices.Contains(unshown, r) {
				require.False(t, found, "it is shown now: %s", out)
				return
			}
			require.True(t, found, "no job shows that it is needed")
			how := regexp.MustCompile(`INTRA_SEED=(\d+)|panic: .*`).FindString(out)
			require.NotEmpty(t, how, "it fails in another way: %s", out)
			t.Log(how)
		})
	}
}

// simulate runs the simulation without the rule, and reports whether it fails.
func (r rule) simulate(t *testing.T, dir string) (out string, failed bool) {
	text, err := r.without()
	require.NoError(t, err)
	path, err := filepath.Abs(filepath.Join("../..", r.file))
	require.NoError(t, err)
	mutant, overlay, binary := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulation.test")
	require.NoError(t, os.WriteFile(mutant, []byte(text), 0o600))
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, b, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	built, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "build without the rule: %s", built)
	run := exec.CommandContext(ctx, binary, "-test.run", "^TestSimulation$", "-test.timeout", "9m")
	run.Env = append(os.Environ(), "INTRA_SOAK=10000", "INTRA_SEED=")
	b, err = run.CombinedOutput()
	return string(b), err != nil
}

// without returns the file of a rule without the rule.
func (r rule) without() (string, error) {
	b, err := os.ReadFile(filepath.Join("../..", r.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), r.text); n != 1 {
		return "", fmt.Errorf("%s has %d times what the table says:\n%s", r.file, n, r.text)
	}
	return strings.Replace(string(b), r.text, r.instead, 1), nil
}
