//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDryRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(file, []byte("a slots=2 rack=x\nb slots=2 rack=y # the other\n"), 0o644))
	for args, want := range map[string]string{
		"-dry-run -hostfile " + file + " -n 2 -r 2 true":       "a (rack x), 2 of 2 slots: 0.0 1.0\nb (rack y), 2 of 2 slots: 0.1 1.1\n",
		"-dry-run -hosts h1:2,h2:2 -n 2 no-such-program":       "h1, 2 of 2 slots: 0.0 1.0\nh2, 2 of 2 slots: 0.1 1.1\n",
		"-dry-run -fanout 1 -hosts h[1-2] -n 2 -r 1 true":      "h1, 1 of 1 slots: 0.0\nh2, 1 of 1 slots: 1.0\nintrarun starts h1\nh1 starts h2\n",
		"-dry-run -hosts h1:9 -n 2 true":                       "h1, 4 of 9 slots: 0.0 0.1 1.0 1.1\n",
		"-dry-run -oversubscribe -hosts h[1-2] -n 2 -r 2 true": "h1, 2 of 1 slots: 0.0 1.0\nh2, 2 of 1 slots: 0.1 1.1\n",
	} {
		cmd := command(strings.Fields(args)...)
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		require.NoError(t, cmd.Run(), args)
		require.Equal(t, want, stdout.String(), args)
	}
}
