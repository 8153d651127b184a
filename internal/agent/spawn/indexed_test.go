package spawn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindIndexed(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(strings.Repeat("s", minSecret)), 0o600))
	short := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.WriteFile(short, []byte("s"), 0o600))
	good := map[string]string{EnvHosts: "p-[0-3]:2", EnvIndex: "2", EnvHead: "p-0.svc:7700", EnvSecret: secret}
	find := func(change string) (*Indexed, error) {
		name, value, _ := strings.Cut(change, "=")
		return FindIndexed(func(s string) string {
			if s == name {
				return value
			}
			return good[s]
		})
	}
	x, err := find("")
	require.NoError(t, err)
	require.Equal(t, 2, x.Index)
	require.Equal(t, "p-2", x.Hosts[2].Name)
	x, err = find(EnvHosts + "=")
	require.NoError(t, err)
	require.Nil(t, x)
	for change, want := range map[string]string{
		EnvHosts + "=a,a":       "named twice",
		EnvIndex + "=":          "not the index",
		EnvIndex + "=4":         "not the index",
		EnvHead + "=p-0":        "want NAME:PORT",
		EnvSecret + "=":         EnvSecret,
		EnvSecret + "=" + short: "at least 32",
	} {
		_, err := find(change)
		require.ErrorContains(t, err, want, change)
	}
}
