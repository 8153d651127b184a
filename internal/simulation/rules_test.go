package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRulesStand looks for the text of every rule in the machines, where it has
// to be once: the table says what is there.
func TestRulesStand(t *testing.T) {
	for _, r := range rules {
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
	for _, r := range rules {
		if !wanted.MatchString(r.file + ": " + r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			out, err := r.simulate(t.TempDir())
			require.Error(t, err, "no job shows that it is needed")
			found := regexp.MustCompile(`INTRA_SEED=(\d+)|panic: .*`).FindString(out)
			require.NotEmpty(t, found, "it fails in another way: %s", out)
			t.Log(found)
		})
	}
}

// simulate runs the simulation without the rule.
func (r rule) simulate(dir string) (string, error) {
	text, err := r.without()
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(filepath.Join("../..", r.file))
	if err != nil {
		return "", err
	}
	mutant, overlay, binary := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulation.test")
	if err := os.WriteFile(mutant, []byte(text), 0o600); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	run := exec.CommandContext(ctx, binary, "-test.run", "^TestSimulation$", "-test.timeout", "9m")
	run.Env = append(os.Environ(), "INTRA_SOAK=10000", "INTRA_SEED=")
	out, err := run.CombinedOutput()
	return string(out), err
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
