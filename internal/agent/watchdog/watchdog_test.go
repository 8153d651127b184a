package watchdog

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// If a process is started at the moment when its parent dies, the watchdog does not know its
// number. That process may already have started others.
func TestWatchdogFindsStartingProcesses(t *testing.T) {
	parent := 1<<30 + os.Getpid() // no process, and no other test, has this number
	for _, c := range []struct {
		name, words string
		left        bool
	}{
		{"being started", "watch 0\nstarting\nstarting\n", false},
		{"not started", "starting\nfailed\n", true},
		{"known", "starting\nwatch 0\n", true}, // by another number, so it does not belong to this intrarun
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("sleep", "1000")
			cmd.Env = append(os.Environ(), markOf(parent))
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			t.Setenv(Variable, fmt.Sprint(parent))
			Run(strings.NewReader(c.words), io.Discard)
			if c.left {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				require.ErrorContains(t, <-ended, "terminated")
				return
			}
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				_ = cmd.Process.Kill()
				t.Fatal("the process was left alive")
			}
		})
	}
}

// The watchdog writes last words only for an intrarun that could not end the job itself.
func TestLastWords(t *testing.T) {
	t.Setenv(Variable, fmt.Sprint(1<<30+os.Getpid()))
	for input, want := range map[string]string{
		"":                              "",
		"words one\n":                   "one\n",
		"words one\nwords two words\n":  "two words\n",
		"words one\nfolder x\nwords \n": "",
	} {
		var out strings.Builder
		Run(strings.NewReader(input), &out)
		require.Equal(t, want, out.String(), "%q", input)
	}
}
