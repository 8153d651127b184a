package engine

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// quitCode is the exit code of a Go program that SIGQUIT ends.
const quitCode = 2

// ExplainOnQuit makes SIGQUIT end this process as it ends every Go program: with the
// stacks of its goroutines on standard error. Before the stacks it writes what the program
// waits for. lastWords receives a copy of the text, for the launcher.
func (e *Engine) ExplainOnQuit(lastWords func([]byte)) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		<-quit
		text := fmt.Appendf(nil, "SIGQUIT: %v, %.3f s after its start\n", e.setup.Self, e.now().Seconds())
		text = append(text, e.explain()...)
		text = append(append(text, '\n'), stacks()...)
		_, _ = os.Stderr.Write(text) // an error here could not be reported
		lastWords(text)
		os.Exit(quitCode)
	}()
}

// explain describes, for the user, what this process waits for. It does not wait long for
// a lock, because the goroutine that holds the lock may be the cause of the wait.
func (e *Engine) explain() string {
	var b strings.Builder
	for _, part := range []struct {
		of   string
		says func() string
	}{{"the engine", e.describe}, {"the deaths", e.deaths.describe}, {"the messages", e.describeMessages}} {
		text, ok := within(describeTime, part.says)
		if !ok {
			text = fmt.Sprintf("the lock of %s is held\n", part.of)
		}
		b.WriteString(text)
	}
	return b.String()
}

const describeTime = time.Second

// within returns the result of f. ok is false if f takes longer than limit.
func within(limit time.Duration, f func() string) (text string, ok bool) {
	result := make(chan string, 1)
	go func() { result <- f() }()
	select {
	case text = <-result:
		return text, true
	case <-time.After(limit):
		return "", false
	}
}

// describe describes where the program is, as far as the engine knows.
func (e *Engine) describe() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "incarnation %d, generation %d, sections %d, live:", e.setup.Incarnation, e.recovering.member.Generation(), e.machine.Number())
	for _, p := range job.Processes(e.setup.Degrees) {
		if incarnation, ok := e.incarnations[p]; ok {
			fmt.Fprintf(&b, " %v(%d)", p, incarnation)
		}
	}
	b.WriteByte('\n')
	for _, line := range e.waits() {
		fmt.Fprintf(&b, "waits: %s\n", line)
	}
	return b.String()
}

// waits lists the things other than messages that the program may wait for. The caller
// holds the lock.
func (e *Engine) waits() (all []string) {
	if e.err != nil {
		all = append(all, fmt.Sprintf("every section fails: %v", e.err))
	}
	if e.recovering.back.Pending() {
		return append(all, e.recovering.back.Describe())
	}
	if e.messages.Load() == nil {
		return append(all, "a joiner without a slot: "+cmp.Or(e.recovering.member.Describe(), "waits for its state"))
	}
	if e.finished {
		return append(all, fmt.Sprintf("the program has returned: waits to be released; %d files are being written", e.recovering.saving.Load()))
	}
	for _, text := range []string{e.sharing.describe(), e.once.Describe(), e.recovering.member.Describe()} {
		if text != "" {
			all = append(all, text)
		}
	}
	if n := e.pending.Load(); n > 0 {
		all = append(all, fmt.Sprintf("%d frames of the program's memory are not handed over", n))
	}
	if len(all) == 0 {
		all = append(all, "the program runs, or waits for messages")
	}
	return all
}

// describeMessages lists the receives that wait and the messages that are retained.
func (e *Engine) describeMessages() string {
	m := e.messages.Load()
	if m == nil {
		return ""
	}
	return m.Describe()
}

// stacks returns the stacks of all goroutines, including those that run.
func stacks() []byte {
	for size := 64 << 10; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return b[:n]
		}
	}
}
