package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// newModule makes a user's module that requires this one, and changes into its folder.
func newModule(t testing.TB, files map[string]string) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("GOFLAGS", "-mod=mod -ldflags=-w") // without debug information, since linking takes most of the time
	t.Setenv("GOWORK", "off")
	sums, err := os.ReadFile(filepath.Join(repository(t), "go.sum"))
	require.NoError(t, err)
	writeFiles(t, dir, map[string]string{
		"go.mod": fmt.Sprintf("module example.org/user\n\ngo 1.26\n\nrequire github.com/intrahpc/intra v0.0.0\n\nreplace github.com/intrahpc/intra => %s\n", repository(t)),
		"go.sum": string(sums),
	})
	writeFiles(t, dir, files)
	t.Chdir(dir)
	return dir
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// TestBrokenDependency requires that errors are reported at their causes, and not at their
// consequences.
func TestBrokenDependency(t *testing.T) {
	dir := newModule(t, map[string]string{
		"kern/kern.go": "package kern\n\nvar X missing\n\nfunc F() unknown { return 1 }\n",
		"main.go": `package main

import "example.org/user/kern"

//intra:task out(y)
func f(y []float64) {
	z := kern.F()
	y[0] = kern.X.a + z.b
}

func main() {}
`,
	})
	code, _, stderr := intragen(t, dir)
	require.Equal(t, 1, code)
	require.Equal(t, "kern/kern.go:3:7: undefined: missing\nkern/kern.go:5:10: undefined: unknown\n", stderr)

	writeFiles(t, dir, map[string]string{"main.go": "package main\n\n//intra:task out(y)\nfunc f(y []float64) { clear(y) }\n\nfunc main() {}\n"})
	code, _, stderr = intragen(t, dir, "./...")
	require.Zero(t, code, "an unrelated package does not matter: %s", stderr)

	writeFiles(t, dir, map[string]string{"kern/kern.go": "package kern\n\nfunc {\n"})
	code, _, stderr = intragen(t, dir, "./...")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "kern/kern.go:3:6: ")
}
