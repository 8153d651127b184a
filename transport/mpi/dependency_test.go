package mpi_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Programs that are built without the tag mpi load no library, so they stay statically
// linked.
func TestWithoutTag(t *testing.T) {
	deps := func(flags ...string) string {
		args := append([]string{"list", "-deps"}, flags...)
		out, err := exec.Command("go", append(args, "../../cmd/intrarun", "../..", "../../runtime", "../../comm", ".")...).Output()
		require.NoError(t, err)
		return string(out)
	}
	const library = "github.com/ebitengine/purego"
	require.NotContains(t, strings.Split(deps(), "\n"), library)
	require.Contains(t, strings.Split(deps("-tags", "mpi"), "\n"), library)
}
