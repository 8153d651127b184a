package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Mounts returns the beginning of a command line that runs a shell. The script must
// follow, with its arguments as $0, $1, … . Its mounts are invisible to other processes.
// Mounts skips the test if that is not allowed. With CI=true the test fails if root is not
// allowed to do it.
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
