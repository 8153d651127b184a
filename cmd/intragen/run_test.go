//go:build system

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// TestGeneratedCodeRuns compares the results of the golden cases with their serial results, in
// the plain build and in the rewritten one.
func TestGeneratedCodeRuns(t *testing.T) {
	for _, tags := range []string{"", "intra"} {
		out := mustRun(t, repository(t), "go", "test", "-count=1", "-tags", tags, "./testdata/generate/...")
		require.Equal(t, 7, strings.Count(out, "ok  \t"), out)
	}
}

// TestVet runs the checks alone and under go vet. go vet also checks each imported package of
// the standard library, which takes most of a minute. So by default the test uses a package
// that imports none. With INTRA_MATRIX it uses the others, too.
func TestVet(t *testing.T) {
	repo := repository(t)
	tool := filepath.Join(t.TempDir(), "intravet")
	mustRun(t, repo, "go", "build", "-o", tool, "./cmd/intravet")
	alone := []string{tool}
	if jobtest.Matrix() {
		alone = []string{"go", "vet", "-vettool=" + tool}
		mustRun(t, repo, "go", "vet", "-tags", "intra", "-vettool="+tool, "./testdata/generate/...")
	}
	out, err := command(t, repo, alone[0], append(alone[1:], "./testdata/generate/...", "./testdata/errors/kernels")...)
	require.Error(t, err)
	require.NotContains(t, out, "testdata/generate/")
	for _, want := range strings.Split(strings.TrimSpace(readFile(t, repo, "testdata/errors/kernels/errors.txt")), "\n") {
		require.Contains(t, out, "testdata/errors/kernels/"+want)
	}

	kernels := strings.Replace(userKernels, "//intra:task in(a, x) out(y)", "//intra:task", 1)
	dir := newModule(t, map[string]string{
		"kernels.go":      kernels,
		"main.go":         strings.Replace(userMain, "//go:build !intra\n\n", "", 1),
		"none/kernels.go": strings.Replace(kernels, "package main", "package none", 1),
	})
	const missing = "kernels.go:3:1: a of kernel scale is in no clause; by its body the kernel needs in(a, x) out(y)\n"
	out, err = command(t, dir, "go", "vet", "-vettool="+tool, "./none")
	require.Error(t, err)
	require.Contains(t, out, missing)
	out, err = command(t, dir, tool, ".")
	require.Error(t, err)
	require.Contains(t, out, missing)
	command(t, dir, tool, "-fix", ".")
	require.Equal(t, userKernels, readFile(t, dir, "kernels.go"))
	require.Equal(t, userMain, readFile(t, dir, "main.go"))
}

// BenchmarkHundredKernels generates for 100 kernels in 20 packages. Each iteration runs
// the whole command on outputs that are up to date.
func BenchmarkHundredKernels(b *testing.B) {
	files := map[string]string{}
	for p := range 20 {
		var text strings.Builder
		fmt.Fprintf(&text, "package k%d\n", p)
		for k := range 5 {
			fmt.Fprintf(&text, `
//intra:task in(a, x) inout(y)
func Kernel%d(a float64, x, y []float64) {
	for i, v := range x {
		y[i] += float64(a * v)
	}
}
`, k)
		}
		files[fmt.Sprintf("k%d/kernels.go", p)] = text.String()
		files[fmt.Sprintf("k%d/step.go", p)] = fmt.Sprintf(`//go:build !intra

package k%d

import "github.com/intrahpc/intra"

func Step(p *intra.Process, x, y []float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
		Kernel0(2, x[lo:hi], y[lo:hi])
	}
}
`, p)
	}
	dir := newModule(b, files)
	start := time.Now()
	code, _, stderr := intragen(b, dir, "./...")
	require.Zero(b, code, stderr)
	first := time.Since(start).Seconds()
	defer func() { b.ReportMetric(first, "s/first") }()
	for b.Loop() {
		code, stdout, _ := intragen(b, dir, "-check", "./...")
		require.Zero(b, code, stdout)
	}
}
