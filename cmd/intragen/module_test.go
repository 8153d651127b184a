package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newModule makes a module of a user, which requires this one, and moves into
// its folder.
func newModule(t testing.TB, files map[string]string) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("GOFLAGS", "-mod=mod -ldflags=-w") // linking is most of the time
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

func readFile(t testing.TB, dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

// command runs a program and returns all that it prints.
func command(t testing.TB, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustRun(t testing.TB, dir, name string, args ...string) string {
	out, err := command(t, dir, name, args...)
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return out
}

const (
	userKernels = `package main

//intra:task in(a, x) out(y)
func scale(a float64, x, y []float64) {
	for i, v := range x {
		y[i] = a * v
	}
}
`
	userMain = `//go:build !intra

package main

import (
	"fmt"

	intra "github.com/intrahpc/intra/runtime"
)

func main() {
	intra.Main(func(p *intra.Process) error {
		x, y := make([]float64, 10), make([]float64, 10)
		for i := range x {
			x[i] = float64(i)
		}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			scale(3, x[lo:hi], y[lo:hi])
		}
		fmt.Println(y)
		return nil
	})
}
`
	userOutput = "[0 3 6 9 12 15 18 21 24 27]\n"
)

// TestBrokenDependency wants the errors where they are, not their traces.
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
	require.Zero(t, code, "a package that has nothing to do with it is not in the way: %s", stderr)

	writeFiles(t, dir, map[string]string{"kern/kern.go": "package kern\n\nfunc {\n"})
	code, _, stderr = intragen(t, dir, "./...")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "kern/kern.go:3:6: ")
}
