package needs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder records how a test would end.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()               {}
func (r *recorder) Skipf(string, ...any)  { r.said = "skipped" }
func (r *recorder) Fatalf(string, ...any) { r.said = "failed" }

func TestTool(t *testing.T) {
	for _, c := range []struct{ ci, tool, want string }{
		{"", "go", ""}, {"true", "go", ""}, {"", "no-such-tool", "skipped"}, {"true", "no-such-tool", "failed"},
	} {
		t.Setenv("CI", c.ci)
		r := &recorder{TB: t}
		Tool(r, c.tool, "package")
		require.Equal(t, c.want, r.said)
	}
}
