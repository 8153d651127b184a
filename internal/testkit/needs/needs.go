// Package needs checks the requirements of tests on the machine. It is for tests of this
// module.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Tool skips a test if there is no such command. With CI=true in the environment the test
// fails instead, because .ci/run installs every tool.
func Tool(t testing.TB, name, debian string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("there is no %s command: install %s", name, debian)
		return
	}
	t.Skipf("there is no %s command (Debian: %s)", name, debian)
}
