package head

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// If a host is lost before the contents of the folders are known, recovery learns of the deaths
// afterwards. It then draws its conclusions, instead of waiting for more deaths on the host.
func TestHostLostBeforeTheFilesAreKnown(t *testing.T) {
	s := newScript(t)
	s.job([]string{"degrees=2,2", "hosts=2", "files=2", "replace"})
	s.commands("keep", "started 0.0@2", "started 0.1@3", "started 1.0@3", "started 1.1@2", "joined 0.0@2", "keep", "lost 3", "keep")
	require.Nil(t, s.head.recovery.decides, "recovery begins with the files")
	s.commands("opened write", "keep")
	require.NotNil(t, s.head.recovery.decides)
	require.False(t, s.head.recovery.together)
}
