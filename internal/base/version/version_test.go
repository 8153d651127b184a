package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLine(t *testing.T) {
	here := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Path: path, Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"},
		{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "amd64"}}}
	require.Equal(t, "intrarun (devel) (go1.26, commit 0123456789ab, modified, linux/amd64)", line("intrarun", here))
	// With go tool intragen, the command is built in a module whose commit does not identify
	// the version.
	there := *here
	there.Main = debug.Module{Path: "example.com/heat", Version: "(devel)"}
	there.Deps = []*debug.Module{{Path: "golang.org/x/tools", Version: "v0.1.0"}, {Path: path, Version: "v1.2.3"}}
	require.Equal(t, "intragen v1.2.3 (go1.26, linux/amd64)", line("intragen", &there))
	require.Contains(t, Line("intrarun"), "intrarun ")
}

func TestAsked(t *testing.T) {
	require.True(t, Asked([]string{"-version"}))
	require.True(t, Asked([]string{"--version"}))
	require.False(t, Asked(nil))
	require.False(t, Asked([]string{"-version", "./program"}))
	require.False(t, Asked([]string{"./program", "-version"}))
}
