//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/cure"
	"github.com/intrahpc/intra/internal/base/version"
	"github.com/intrahpc/intra/internal/launch"
)

func main() { os.Exit(closeOutput(os.Stdout, os.Stderr, run())) }

// closeOutput closes the standard output of a command that ends with code, and returns the
// final exit code. A network file system may report only at this point that it is full.
func closeOutput(out io.Closer, diag io.Writer, code int) int {
	err := out.Close()
	if err == nil {
		return code
	}
	fmt.Fprintln(diag, "intrarun: output is lost:", err)
	if code == launch.ExitOK {
		return launch.ExitFailed
	}
	return code
}

func run() int {
	if os.Getenv(watchdog.Variable) != "" {
		watchdog.Run(os.Stdin, os.Stderr)
		return launch.ExitOK
	}
	if len(os.Args) == 2 && os.Args[1] == asAgent {
		leave := leaveSignals()
		return serve(func() error { return launch.Serve(context.Background(), os.Stdin, []string{"/proc/self/exe"}, leave) })
	}
	if version.Asked(os.Args[1:]) {
		return show("", version.Line("intrarun")+"\n")
	}
	if len(os.Args) > 1 {
		if command := commands[os.Args[1]]; command != nil {
			return command(os.Args[2:])
		}
	}
	c, err := parse(os.Args[1:], os.Stderr)
	_ = os.Unsetenv(tokenVariable) // the token is for the page, and not for the program
	switch {
	case errors.Is(err, flag.ErrHelp):
		return launch.ExitOK
	case err != nil:
		if !errors.Is(err, launcher.ErrAlone) && repeats(os.Args[1:]) {
			// The first process prints this error for all processes. The launcher ends the others
			// once one has failed, so wait until the first has had time to print.
			time.Sleep(time.Second)
			return launch.ExitCode(err)
		}
		fmt.Fprintf(os.Stderr, "intrarun: %v\n(intrarun -h lists the flags)\n", err)
		return launch.ExitCode(err)
	}
	c.Watchdog = []string{"/proc/self/exe"}
	if c.Links.MPI && !c.DryRun {
		signal.Ignore(syscall.SIGUSR1) // MPICH's mpiexec sends it when another process has died
		if c.Indexed.Idle {
			return serve(func() error { return lend(c) })
		}
		lent := make(chan struct{})
		go func() {
			defer close(lent)
			if err := lend(c); err != nil {
				fmt.Fprintln(os.Stderr, "intrarun:", err)
			}
		}()
		defer leave(c, lent)
	}
	if x := c.Indexed; x != nil && (x.Idle || x.Spare() && x.Index > 0 && c.DryRun) {
		return launch.ExitOK // the first process of the host does all the work
	}
	if c.Indexed != nil && c.Indexed.Index > 0 && !c.DryRun {
		c.Signals = leaveSignals()
		return serve(func() error { return launch.ServeIndexed(context.Background(), *c) })
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // under nohup the signal stays ignored
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A closed output must not end a running job. A job in the background must not stop
	// because it reads the terminal.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGTTIN, syscall.SIGTTOU)
	c.Stops, c.Suspend = stops(signal.Ignored(syscall.SIGTSTP)), suspend
	if c.Placement != nil {
		// The agents would take a stopped coordinator for a lost one.
		signal.Ignore(syscall.SIGTSTP)
		self, err := os.Executable()
		if err != nil {
			fmt.Fprintln(os.Stderr, "intrarun: find the executable of the agents:", err)
			return launch.ExitRefused
		}
		c.Agent = []string{self, asAgent}
	}
	cure.WritesFail()
	asks := make(chan os.Signal, 1)
	signal.Notify(asks, syscall.SIGQUIT)
	c.Signals, c.Asks = signals, asks
	if _, err := os.Stdin.Stat(); err != nil { // standard input is closed
		c.Stdin = nil
	}
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Width = width(c)
	return launch.Run(context.Background(), *c)
}

// asAgent makes intrarun the agent of a host. A coordinator has started it.
const asAgent = "-agent"

// leaveSignals returns the signals that make the host of an agent leave the job.
func leaveSignals() <-chan os.Signal {
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGTERM)
	return c
}

// exitLeft is the exit code of the agent of a host that has left the job on notice.
// launch.ExitHandedOver is that of a head.
const exitLeft = 5

func serve(life func() error) int {
	// The coordinator handles these signals. If the coordinator is gone, the output has no
	// reader.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if err := life(); err != nil {
		fmt.Fprintln(os.Stderr, "intrarun: agent:", err)
		if errors.Is(err, agentd.ErrLeft) {
			return exitLeft
		}
		if end, ok := errors.AsType[*agentd.JobError](err); ok {
			return end.Code
		}
		return launch.ExitFailed
	}
	return launch.ExitOK
}

// width returns a function that returns the width of the terminal for the progress line. It
// returns nil if there is no progress line.
func width(c *launch.Config) func() int {
	fd := int(os.Stderr.Fd())
	if c.Quiet || c.Verbose || !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() int {
		columns, _, err := term.GetSize(fd)
		if err != nil || columns <= 0 { // the width is unknown
			return usualWidth
		}
		return columns
	}
}

const usualWidth = 80
