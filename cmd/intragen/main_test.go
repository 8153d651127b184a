package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// root is the folder of go.mod. It is determined before any test changes the current folder.
var root, rootErr = filepath.Abs("../..")

func repository(t testing.TB) string {
	require.NoError(t, rootErr)
	return root
}

// intragen runs the command in a folder.
func intragen(t testing.TB, dir string, args ...string) (code int, stdout, stderr string) {
	t.Chdir(dir)
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// TestGolden checks that the outputs for the test cases have not changed. The golden files are
// the outputs beside the sources.
func TestGolden(t *testing.T) {
	dir := filepath.Join(repository(t), "testdata", "generate")
	if *update {
		code, _, stderr := intragen(t, dir, "./...")
		require.Zero(t, code, stderr)
	}
	code, stdout, stderr := intragen(t, dir, "-check", "-v", "./...")
	require.Empty(t, stdout)
	require.Zero(t, code, stderr)
	for _, name := range []string{"blocks/kernels_intra.go", "blocks/steps_intra.go", "forms/kernels_intra.go", "forms/steps_intra.go", "hpccg/cg_intra.go", "names/names_intra_test.go", "reductions/kernels_intra.go", "reductions/steps_intra.go", "state/state_intra.go", "state/mesh/mesh_intra.go"} {
		require.Contains(t, stderr, name+": current\n")
	}
}

// TestErrors compares the errors for wrong sources, with their positions. Most of the time of a
// run is spent on the types of the standard library. So one run has all packages whose errors
// are independent of each other. The errors about twins need a run of their own, because no
// twin is made if any kernel is wrong.
func TestErrors(t *testing.T) {
	errors := filepath.Join(repository(t), "testdata", "errors")
	for _, names := range [][]string{{"kernels", "sections", "compile", "taken", "state", "statetwin"}, {"twin"}} {
		patterns := make([]string, len(names))
		for i, name := range names {
			patterns[i] = "./" + name
		}
		code, stdout, stderr := intragen(t, errors, patterns...)
		require.Equal(t, 1, code)
		require.Empty(t, stdout)
		found := make(map[string]string)
		for line := range strings.Lines(stderr) {
			name, text, _ := strings.Cut(line, "/")
			require.Contains(t, names, name, line)
			found[name] += text
		}
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				golden := filepath.Join(errors, name, "errors.txt")
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(found[name]), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.Equal(t, string(want), found[name])
				outputs, err := filepath.Glob(filepath.Join(errors, name, "*_intra*.go"))
				require.NoError(t, err)
				require.Empty(t, outputs, "nothing is written if there is an error")
			})
		}
	}
}

func TestUsage(t *testing.T) {
	code, _, stderr := intragen(t, t.TempDir(), "-wrong")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "usage: go tool intragen [-check] [-diff] [-v] [packages], or intragen -version")
	code, _, stderr = intragen(t, repository(t), "./nothing/here")
	require.Equal(t, 1, code)
	require.True(t, strings.Contains(stderr, "nothing/here"), stderr)
}
