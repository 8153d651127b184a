package needs

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// StrangerID is a user ID that no machine uses. It is the other user in tests of attacks.
const StrangerID = 54321

// Stranger calls do as another user, on a thread that ends afterwards. The kernel keeps
// users by thread, so files and connections that do makes belong to the other user. If the
// user of the test is not root, the test is skipped.
func Stranger(t testing.TB, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		runtime.LockOSThread() // never unlocked, so the thread ends with this goroutine
		// Raw system calls change only this thread; the functions of package syscall would
		// change all threads.
		for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
			if _, _, errno := unix.RawSyscall(call, StrangerID, StrangerID, StrangerID); errno != 0 {
				failed <- errno
				return
			}
		}
		do()
	}()
	if err := <-failed; err != nil {
		t.Fatalf("become user %d: %v", StrangerID, err)
	}
}
