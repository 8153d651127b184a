package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Mounts returns the beginning of a command line. A shell runs the script that follows,
// with mounts that no other process sees and with the further arguments as $0, $1, … .
// Mounts skips the test if that is not allowed. With CI=true it fails if root cannot do
// it.
func Mounts(t testing.TB) []string {
	t.Helper()
	Tool(t, "unshare", "util-linux")
	command := []string{"unshare", "--mount", "sh", "-ec"}
	root := os.Geteuid() == 0
	if !root {
		command = []string{"unshare", "--map-root-user", "--mount", "sh", "-ec"}
	}
	if out, err := exec.Command(command[0], append(command[1:], "mount -t tmpfs none /mnt")...).CombinedOutput(); err != nil {
		if root && os.Getenv("CI") == "true" {
			t.Fatalf("mount in a namespace of its own: %v: %s", err, out)
			return nil
		}
		t.Skipf("no mounts in a namespace of their own: %v: %s", err, out)
	}
	return command
}
