package ruletest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// double is the code from which the table of this test removes a rule.
func double(n uint64) uint64 {
	sum := n
	sum += n
	return sum
}

// TestDouble fails without its rule.
func TestDouble(t *testing.T) {
	_, n := simseed.Range(t, 3)
	for i := range n {
		require.Equal(t, 2*i, double(i), "in round %d", i)
	}
}

var table = Table{
	Root: ".",
	Rules: []Rule{
		New("ruletest_test.go", "a number counts twice", "\tsum += "+"n\n", ""),
	},
	Unshown: []Rule{
		New("ruletest_test.go", "the sum begins with the number", "\tsum := "+"n\n", "\tvar sum uint64 = n\n"),
	},
	Test: "TestDouble",
	Soak: 5,
	Sign: "in round [1-4]",
}

func TestRulesStand(t *testing.T) { table.Stand(t) }

func TestRulesAreNeeded(t *testing.T) {
	t.Setenv("INTRA_RULES", "^ruletest_test.go: ")
	table.Needed(t)
}

func TestWithout(t *testing.T) {
	for _, c := range []struct{ name, file, text, err string }{
		{"once", "doc.go", "package ruletest\n", ""},
		{"never", "doc.go", "there is no such text", "doc.go has 0 times"},
		{"twice", "doc.go", "the ", "doc.go has "},
		{"no file", "none.go", "", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := table.without(New(c.file, c.name, c.text, "X"))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Contains(t, text, "X")
			require.NotContains(t, text, c.text)
		})
	}
}
