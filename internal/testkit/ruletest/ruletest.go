package ruletest

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

// Rule is a rule of a protocol: a text in a file, and the text that replaces it to
// remove the rule.
type Rule struct{ File, Name, Text, Instead string }

// New returns a rule.
func New(file, name, text, instead string) Rule {
	return Rule{File: file, Name: name, Text: text, Instead: instead}
}

// Table lists the rules of a protocol, and names the test that shows that they are needed.
type Table struct {
	Root    string // folder of the files, relative to that of the test
	Rules   []Rule
	Unshown []Rule // rules that the test does not show to be needed; the table gives the reasons
	Test    string // name of a test of the package
	Soak    int    // value of INTRA_SOAK for the test
	Sign    string // matches the output of a failure of the test
}

func (table Table) all() []Rule { return slices.Concat(table.Rules, table.Unshown) }

// Stand checks that the text of every rule occurs once in its file.
func (table Table) Stand(t *testing.T) {
	for _, r := range table.all() {
		t.Run(r.Name, func(t *testing.T) {
			_, err := table.without(r)
			require.NoError(t, err)
		})
	}
}

// Needed removes each rule that INTRA_RULES matches, in turn. The test must fail without
// it, and pass with all rules. This takes long.
func (table Table) Needed(t *testing.T) {
	names := os.Getenv("INTRA_RULES")
	if names == "" {
		t.Skip("INTRA_RULES=. takes every rule out in turn")
	}
	wanted, err := regexp.Compile(names)
	require.NoError(t, err)
	sign := regexp.MustCompile(`(?m)^.*(` + table.Sign + `|panic: ).*$`)
	rules := slices.DeleteFunc(table.all(), func(r Rule) bool { return !wanted.MatchString(r.File + ": " + r.Name) })
	if len(rules) == 0 {
		return
	}
	out, failed := table.run(t, nil)
	require.False(t, failed, "the test fails although no rule is removed: %s", out)
	for _, r := range rules {
		t.Run(r.Name, func(t *testing.T) {
			out, failed := table.run(t, &r)
			if slices.Contains(table.Unshown, r) {
				require.False(t, failed, "it is shown now: %s", out)
				return
			}
			require.True(t, failed, "nothing shows that it is needed")
			how := sign.FindString(out)
			require.NotEmpty(t, how, "it fails in another way: %s", out)
			t.Log(strings.TrimSpace(how))
		})
	}
}

// run runs the test without a rule, or with all rules if r is nil. It reports whether the
// test fails.
func (table Table) run(t *testing.T, r *Rule) (out string, failed bool) {
	dir := t.TempDir()
	mutant, overlay, binary := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant.test")
	replace := make(map[string]string)
	if r != nil {
		text, err := table.without(*r)
		require.NoError(t, err)
		path, err := filepath.Abs(filepath.Join(table.Root, r.File))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(mutant, []byte(text), 0o600))
		replace[path] = mutant
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, b, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	built, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "build without the rule: %s", built)
	test := exec.CommandContext(ctx, binary, "-test.run", "^"+table.Test+"$", "-test.failfast", "-test.timeout", timeout.String())
	test.Env = append(os.Environ(), fmt.Sprint("INTRA_SOAK=", table.Soak), "INTRA_SEED=")
	b, err = test.CombinedOutput()
	require.NoError(t, ctx.Err(), "the test of one rule takes too long")
	return string(b), err != nil
}

// timeout bounds the test without one rule. That rule may be the one that keeps a loop
// from running forever.
const timeout = 20 * time.Minute

// without returns the file of a rule without the rule.
func (table Table) without(r Rule) (string, error) {
	b, err := os.ReadFile(filepath.Join(table.Root, r.File))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), r.Text); n != 1 {
		return "", fmt.Errorf("%s has %d times what the table says:\n%s", r.File, n, r.Text)
	}
	return strings.Replace(string(b), r.Text, r.Instead, 1), nil
}
