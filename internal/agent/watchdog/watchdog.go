package watchdog

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Variable, in the environment, makes a command a watchdog: it calls Run with
// its standard input and exits.
const Variable = "INTRARUN_WATCHDOG"

// Watchdog is the starting process's end of the pipe. The methods of a nil
// Watchdog do nothing.
type Watchdog struct {
	cmd   *exec.Cmd
	pipe  io.WriteCloser
	ended chan struct{}
}

// Start starts command as a watchdog. The watchdog has a process group of its own, so that the
// terminal's signals do not reach it. If words is not nil, it writes LastWords to words. It
// inherits no other descriptor.
func Start(command []string, words *os.File) (*Watchdog, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", Variable, os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if words != nil {
		cmd.Stderr = words
	}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the watchdog of the processes: %w", err)
	}
	w := &Watchdog{cmd, pipe, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(w.ended)
	}()
	return w, nil
}

// tell ignores errors, since the job also runs without a watchdog.
func (w *Watchdog) tell(what, arg string) {
	if w != nil {
		fmt.Fprintf(w.pipe, "%s %s\n", what, arg)
	}
}

// startedBy is a variable in the environment of a process. It names the process that started
// it, for the short time in which the watchdog does not know its number.
const startedBy = "INTRARUN_STARTED_BY"

// Mark returns the variable that a watched process must have in its environment.
func Mark() string { return markOf(os.Getpid()) }

func markOf(parent int) string { return fmt.Sprintf("%s=%d", startedBy, parent) }

// Gone returns a channel that is closed when the watchdog has ended.
func (w *Watchdog) Gone() <-chan struct{} { return w.ended }

// Starting announces the start of a process: Watch or NotStarted follows.
func (w *Watchdog) Starting() { w.tell("starting", "") }

// NotStarted reports that the process could not be started.
func (w *Watchdog) NotStarted() { w.tell("failed", "") }

// Watch names a process group that the watchdog has to kill at the end.
func (w *Watchdog) Watch(group int) { w.tell("watch", strconv.Itoa(group)) }

// Forget reverts Watch. It must be called while the number of the group cannot be
// reused.
func (w *Watchdog) Forget(group int) { w.tell("forget", strconv.Itoa(group)) }

// Folder names a folder to remove at the end.
func (w *Watchdog) Folder(path string) { w.tell("folder", path) }

// LastWords sets the text that the watchdog writes if its starter is killed
// before Close.
func (w *Watchdog) LastWords(text string) {
	w.tell("words", strings.ReplaceAll(text, "\n", " "))
}

// Close ends the watchdog, which then cleans up.
func (w *Watchdog) Close() {
	if w != nil {
		w.LastWords("")
		w.pipe.Close()
		<-w.ended
	}
}

// Lease sets two times on the clock of package lease: until when the processes may run, and
// when the caller must be gone.
func (w *Watchdog) Lease(until, abandoned time.Duration) {
	w.tell("lease", fmt.Sprint(int64(until), " ", int64(abandoned)))
}
