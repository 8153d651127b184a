//go:build system

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readFile(t testing.TB, dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

// command runs a program and returns its whole output.
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

	"github.com/intrahpc/intra"
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

// TestLife checks the outputs after each step in the development of a program.
func TestLife(t *testing.T) {
	dir := newModule(t, map[string]string{"kernels.go": userKernels, "main.go": userMain})

	code, stdout, stderr := intragen(t, dir, "-check")
	require.Equal(t, 1, code, stderr)
	require.Equal(t, "kernels_intra.go: missing\nmain_intra.go: missing\n", stdout)
	require.NoFileExists(t, "kernels_intra.go")

	code, _, stderr = intragen(t, dir, "-v")
	require.Zero(t, code, stderr)
	require.Equal(t, "kernels_intra.go: written\nmain_intra.go: written\n", stderr)
	kernels, twin := readFile(t, dir, "kernels_intra.go"), readFile(t, dir, "main_intra.go")

	before, err := os.Stat("main_intra.go")
	require.NoError(t, err)
	code, _, stderr = intragen(t, dir, "-v", "./...")
	require.Zero(t, code)
	require.Equal(t, "kernels_intra.go: current\nmain_intra.go: current\n", stderr)
	after, err := os.Stat("main_intra.go")
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "an output that would not change is not written")

	t.Run("the tag in GOFLAGS does not hide the sections", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-tags=intra,other -mod=mod")
		code, stdout, stderr := intragen(t, dir, "-check")
		require.Zero(t, code, stdout+stderr)
	})

	t.Run("an edited clause is found by -check and shown by -diff", func(t *testing.T) {
		writeFiles(t, dir, map[string]string{"kernels.go": strings.Replace(strings.Replace(userKernels, "out(y)", "inout(y)", 1), "y[i] = a", "y[i] += a", 1)})
		code, stdout, _ := intragen(t, dir, "-check")
		require.Equal(t, 1, code)
		require.Equal(t, "kernels_intra.go: stale\n", stdout)
		code, stdout, _ = intragen(t, dir, "-diff")
		require.Equal(t, 1, code)
		require.Contains(t, stdout, "--- a/kernels_intra.go\n+++ b/kernels_intra.go\n@@ -")
		require.Contains(t, stdout, "\n-\t\t\tintra.Out(\"y\", y),\n+\t\t\tintra.InOut(\"y\", y),\n")
		require.Equal(t, kernels, readFile(t, dir, "kernels_intra.go"))
	})

	t.Run("a broken output does not prevent its regeneration", func(t *testing.T) {
		writeFiles(t, dir, map[string]string{
			"kernels.go":       userKernels,
			"main.go":          userMain,
			"kernels_intra.go": strings.Replace(kernels, "import (", "<<<<<<< ours\nimport (\n\t\"no/such/package\"", 1),
			"main_intra.go":    strings.Replace(twin, "func main", "func man(", 1),
		})
		code, _, stderr := intragen(t, dir)
		require.Zero(t, code, stderr)
		require.Equal(t, kernels, readFile(t, dir, "kernels_intra.go"))
		require.Equal(t, twin, readFile(t, dir, "main_intra.go"))
	})

	t.Run("gofmt changes nothing", func(t *testing.T) {
		require.Empty(t, mustRun(t, dir, "gofmt", "-l", "."))
	})

	t.Run("a new kernel leaves the others as they are", func(t *testing.T) {
		writeFiles(t, dir, map[string]string{"kernels.go": userKernels + "\n//intra:task out(x)\nfunc zero(x []float64) { clear(x) }\n"})
		code, _, stderr := intragen(t, dir)
		require.Zero(t, code, stderr)
		withoutFingerprint := func(text string) string {
			return regexp.MustCompile(`"[0-9a-f]{32}"`).ReplaceAllString(text, `""`)
		}
		require.True(t, strings.HasPrefix(withoutFingerprint(readFile(t, dir, "kernels_intra.go")), withoutFingerprint(kernels)))
		require.Equal(t, twin, readFile(t, dir, "main_intra.go"))
	})

	t.Run("orphans are removed, and other files are kept", func(t *testing.T) {
		require.NoError(t, os.Rename("kernels.go", "tasks.go"))
		code, stdout, _ := intragen(t, dir, "-check")
		require.Equal(t, 1, code)
		require.Equal(t, "kernels_intra.go: orphan\ntasks_intra.go: missing\n", stdout)
		code, _, stderr := intragen(t, dir)
		require.Zero(t, code, stderr)
		require.NoFileExists(t, "kernels_intra.go")
		require.FileExists(t, "tasks_intra.go")

		writeFiles(t, dir, map[string]string{"tasks_intra.go": "package main\n\n// mine\n"})
		code, _, stderr = intragen(t, dir)
		require.Equal(t, 1, code)
		require.Equal(t, "tasks_intra.go:1:1: this file was not written by intragen, which needs its name for what it makes of tasks.go; rename one\n", stderr)
		require.Equal(t, "package main\n\n// mine\n", readFile(t, dir, "tasks_intra.go"))
	})
}
