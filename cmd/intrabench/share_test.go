//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program of another module is measured from its folder.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink(binaries.Intrarun(t), filepath.Join(dir, "intrarun")))
	program := binaries.Program(t, "cmd/intrabench/testdata/share")
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Chdir(t.TempDir()) // outside of any module
	file := filepath.Join(t.TempDir(), "m.json")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"share", "-rounds", "2", "-quiet", "-json", file, program, "3000"}, &out, nil))
	for _, want := range []string{`(?m)^native +\d`, `(?m)^replicated +\d`, `(?m)^send +\d`, `(?m)^auto +\d`, `(?m)main\.add +native +\d`, `E = T\(native\)`} {
		require.Regexp(t, want, out.String())
	}
	require.NotContains(t, out.String(), "something else")
	var m struct {
		Rows []struct {
			Seconds, Efficiency struct{ Median float64 }
		}
	}
	readResult(t, file, &m)
	require.Len(t, m.Rows, 4)
	require.Equal(t, 1.0, m.Rows[0].Efficiency.Median)
	for _, r := range m.Rows {
		require.Positive(t, r.Seconds.Median)
	}
}

func TestShareUsage(t *testing.T) {
	require.ErrorIs(t, run(t.Context(), []string{"share"}, nil, nil), errUsage)
	require.EqualError(t, run(t.Context(), []string{"share", "-r", "1", "x"}, nil, nil), "-r must be at least 2: one replica has no peer to share with")
	require.ErrorContains(t, run(t.Context(), []string{"share", "./nothing"}, nil, nil), "./nothing is neither an executable file nor a Go package that can be built")
}
