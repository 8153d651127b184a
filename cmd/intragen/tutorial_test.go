//go:build system

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// TestTutorial follows the tutorial, in a module of its own. Package
// internal/testkit/systemtest/docs also runs most of its commands.
func TestTutorial(t *testing.T) {
	jobtest.NeedMatrix(t, "the tests of the documents run most commands of the tutorial")
	source := filepath.Join(repository(t), "testdata", "tutorial")
	dir := newModule(t, map[string]string{
		"kernels.go": readFile(t, source, "kernels.go"),
		"main.go":    readFile(t, source, "main.go"),
	})
	// A proxy serves the modules that this one needs. It answers "not found" to all other
	// requests, so that nothing is fetched from the network.
	cache := strings.TrimSpace(mustRun(t, dir, "go", "env", "GOMODCACHE"))
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(filepath.Join(cache, "cache", "download")))
	mustRun(t, dir, "go", "get", "-tool", "github.com/intrahpc/intra/cmd/intragen", "github.com/intrahpc/intra/cmd/intrarun")
	require.Contains(t, readFile(t, dir, "go.mod"), "github.com/intrahpc/intra/cmd/intragen")
	mustRun(t, dir, "go", "generate", "./...")
	require.Empty(t, mustRun(t, dir, "go", "tool", "intragen", "-check", "./..."))
	mustRun(t, dir, "go", "vet", "-tags", "intra", ".")

	mustRun(t, dir, "go", "build", "-o", "plain", ".")
	mustRun(t, dir, "go", "build", "-o", "shared", "-tags", "intra", ".")
	want := mustRun(t, dir, "./plain")
	require.Equal(t, want, mustRun(t, dir, "./shared"))
	for _, args := range [][]string{
		{"-quiet", "-r", "2", "./shared"},
		{"-quiet", "-r", "2", "-kill", "0.1@task:40", "./shared"},
		{"-quiet", "-r", "3", "-kill", "0.0@section:50", "-kill", "0.2@section:100", "./shared"},
		{"-quiet", "-r", "2", "-kill", "0.0@section:7", "."},
	} {
		require.Equal(t, want, mustRun(t, dir, "go", append([]string{"tool", "intrarun"}, args...)...), "%v", args)
	}
}
