package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		os.RemoveAll(folder)
	}
	os.Exit(code)
}

// folder contains the commands that the tests have built.
var folder string

// root is the folder of the repository.
var root, _ = filepath.Abs(filepath.Join("..", "..", "..", ".."))

// built returns the path of a command of the repository. The first call builds all of
// them.
func built(t *testing.T, name string) string {
	require.NoError(t, build())
	return filepath.Join(folder, name)
}

var build = sync.OnceValue(func() (err error) {
	if folder, err = os.MkdirTemp("", "browser-"); err != nil {
		return fmt.Errorf("make room for commands: %w", err)
	}
	cmd := exec.Command("go", "build", "-tags", "intra", "-o", folder, "./cmd/intrarun", "./examples/hpccg", "./internal/testkit/systemtest/waits")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return nil
})
