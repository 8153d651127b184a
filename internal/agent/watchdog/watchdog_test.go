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

// A process that is started at the moment when its parent dies has no number that the
// watchdog knows, and may already have started others.
func TestWatchdogFindsWhatIsBeingStarted(t *testing.T) {
	parent := 1<<30 + os.Getpid() // the number of no process, and of no other test
	for _, c := range []struct {
		name, words string
		left        bool
	}{
		{"being started", "watch 0\nstarting\nstarting\n", false},
		{"not started", "starting\nfailed\n", true},
		{"known", "starting\nwatch 0\n", true}, // by another number: it does not belong to this intrarun
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
				t.Fatal("it was left")
			}
		})
	}
}

// Only an intrarun that could not end the job itself leaves words.
func TestLastWords(t *testing.T) {
	t.Setenv(Variable, fmt.Sprint(1<<30+os.Getpid()))
	for told, want := range map[string]string{
		"":                              "",
		"words one\n":                   "one\n",
		"words one\nwords two words\n":  "two words\n",
		"words one\nfolder x\nwords \n": "",
	} {
		var out strings.Builder
		Run(strings.NewReader(told), &out)
		require.Equal(t, want, out.String(), "%q", told)
	}
}
