package clauses_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/clauses"
)

const source = `package p

// Scale multiplies.
//
//intra:task in(a, x) out(y)
func scale(a float64, x, y []float64) {
	for i, v := range x {
		y[i] = a * v
	}
}

func helper(x int) {}

//intra:task inout(g.z)
func (g *grid[T]) step(f func(struct{ a, b int }) interface{ M() }) (sum T) { return f(sum) }
`

// TestFingerprint changes a source. The fingerprint must change exactly if a directive or
// a signature changes.
func TestFingerprint(t *testing.T) {
	tests := []struct {
		name, old, new string
		differs        bool
	}{
		{"a clause", "out(y)", "inout(y)", true},
		{"a second directive", "out(y)", "out(y)\n//intra:task scratch(z)", true},
		{"no directive", "//intra:task in(a, x) out(y)\n", "", true},
		{"the name", "func scale", "func scales", true},
		{"the order of parameters", "x, y []", "y, x []", true},
		{"a type", "a float64", "a float32", true},
		{"a receiver", "(g *grid[T])", "(h *grid[T])", true},
		{"a type within a type", "{ a, b int }", "{ a, c int }", true},
		{"a result", "(sum T)", "(total T)", true},
		{"a kernel more", "func helper", "//intra:task in(x)\nfunc helper", true},
		{"a directive moved to another function", "//intra:task inout(g.z)\n", "", true},
		{"a body", "a * v", "a*v + 1", false},
		{"a body with braces", "y[i] = a * v", "y[i] = struct{ x float64 }{a * v}.x", false},
		{"a body with a function", "y[i] = a * v", "func() { y[i] = a * v }()", false},
		{"a comment", "// Scale multiplies.", "// Scale scales.", false},
		{"a comment in a signature", "a float64,", "a float64 /* factor */,", false},
		{"spaces of a directive", "in(a, x) out", "in(a,  x)   out", false},
		{"a signature on several lines", "(a float64, x, y []float64)", "(\n\ta float64,\n\tx, y []float64,\n)", false},
		{"ends of lines", "\n", "\r\n", false},
		{"another function", "func helper(x int) {}", "func helper(x string) { _ = x }", false},
		{"a directive in a string", "func helper(x int) {}", "const s = \x60\n//intra:task in(x)\nfunc f() {}\n\x60", false},
		{"a directive within a body", "y[i] = a * v", "//intra:section on(p)\n{ y[i] = a * v }", false},
	}
	was := clauses.Fingerprint(source)
	require.Len(t, was, 32)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			edited := strings.ReplaceAll(source, tt.old, tt.new)
			require.NotEqual(t, source, edited)
			require.Equal(t, tt.differs, was != clauses.Fingerprint(edited), edited)
		})
	}
}

// FuzzFingerprint requires that any text has a fingerprint, and always the same one.
func FuzzFingerprint(f *testing.F) {
	f.Add(source)
	f.Add("//intra:task\nfunc")
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, clauses.Fingerprint(text), clauses.Fingerprint(text))
	})
}
