//go:build linux && system

package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/filebench"
)

// The command measures files of small jobs. Their times mean nothing.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"files", "-size", "1", "-calls", "4", "-rounds", "2", "-quiet", "-dir", dir, "-json", dir + "/f.json"}, &out, nil))
	var all filebench.Results
	readResult(t, dir+"/f.json", &all)
	require.Len(t, all.Files, len(filebench.Ways))
	for i, r := range all.Files {
		require.Equal(t, filebench.Ways[i].Name, r.Way)
		require.Regexp(t, `(?m)^  `+dir+` +`+r.Way+` +\d`, out.String())
		require.Len(t, r.Times, 2)
		require.Positive(t, r.Whole.Single.Median)
	}
}
