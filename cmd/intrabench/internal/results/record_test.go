//go:build linux

package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRecord(t *testing.T) {
	b, err := Begin("intrabench pingpong", []string{"-link", "shm", "-json", "p.json", "--quiet", "-degrees", "1,1 2,2", "-rounds=3"})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "p.json")
	require.NoError(t, b.Write(name, []int{1, 2}))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var r Record
	require.NoError(t, json.Unmarshal(text, &r))
	require.Equal(t, "intrabench pingpong -link shm -degrees '1,1 2,2' -rounds=3", r.Command)
	require.Contains(t, r.Version, "intrabench ")
	require.Positive(t, r.Machine.Cores)
	require.WithinDuration(t, time.Now(), r.Measured, time.Hour)
	require.Equal(t, []any{1.0, 2.0}, r.Result)
	require.ErrorContains(t, b.Write(filepath.Join(name, "x"), nil), "write "+name)
}

func TestCommandLine(t *testing.T) {
	for want, args := range map[string][]string{
		"c":              nil,
		"c -n 1":         {"-quiet", "-n", "1", "-json", "f"},
		"c -n=1 -":       {"-json=f", "-n=1", "-"},
		`c -peer 'a b'`:  {"-peer", "a b"},
		`c 'it'\''s' ''`: {"it's", ""},
	} {
		require.Equal(t, want, commandLine("c", args))
	}
}

func TestOthersExcludeThisProcess(t *testing.T) {
	start := usage{at: time.Unix(100, 0), all: 50 * time.Second, own: 10 * time.Second}
	end := usage{at: time.Unix(110, 0), all: 67 * time.Second, own: 22 * time.Second}
	require.InDelta(t, 0.5, end.others(start), 1e-9)
	require.Zero(t, usage{at: time.Unix(110, 0), all: 51 * time.Second, own: 22 * time.Second}.others(start), "ticks are coarse")
}
