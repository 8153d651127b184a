//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/vary"
)

// sets runs the sets: first the undisturbed set, then the others side by side. The values of
// the others are compared with those of the first.
type sets struct {
	*options
	watchdog *watchdog.Watchdog
	outcomes []vary.Outcome

	mu          sync.Mutex
	running     map[*exec.Cmd]bool
	interrupted syscall.Signal // 0: no signal has arrived
}

// vet runs the sets and compares them. It returns the exit code, and an error if one has not
// been printed yet.
func vet(o *options, signals <-chan os.Signal) (int, error) {
	w, err := watchdog.Start([]string{"/proc/self/exe"}, os.Stderr)
	if err != nil {
		return exitRefused, err
	}
	defer w.Close()
	if o.Dir, err = os.MkdirTemp("", "intra-vary-"); err != nil {
		return exitRefused, fmt.Errorf("make room for the values of variables: %w", err)
	}
	w.Folder(o.Dir)
	defer os.RemoveAll(o.Dir)
	s := &sets{options: o, watchdog: w, outcomes: make([]vary.Outcome, o.Sets), running: make(map[*exec.Cmd]bool)}
	ended := make(chan struct{})
	defer close(ended)
	go s.forward(signals, ended)
	return s.run()
}

// forward passes signals on to the running commands.
func (s *sets) forward(signals <-chan os.Signal, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case got := <-signals:
			s.mu.Lock()
			s.interrupted = got.(syscall.Signal)
			for cmd := range s.running {
				_ = cmd.Process.Signal(got) // the command may have ended
			}
			s.mu.Unlock()
		}
	}
}

func (s *sets) run() (code int, err error) {
	if err := s.one(0, os.Stdout); err != nil {
		return exitRefused, err
	}
	if code := s.outcomes[0].ExitCode; code != 0 || s.signalled() != 0 {
		return max(code, s.signalled()), nil
	}
	if s.outcomes[0].Records == nil {
		return exitFailed, vary.ErrNoPoints
	}
	jobs := s.jobs
	if jobs == 0 {
		jobs = max(1, runtime.NumCPU()/len(s.outcomes[0].Records))
	}
	var all sync.WaitGroup
	turn := make(chan struct{}, jobs)
	wrong := make([]error, s.Sets)
	for set := 1; set < s.Sets; set++ {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			wrong[set] = s.one(set, io.Discard)
		})
	}
	all.Wait()
	if code := s.signalled(); code != 0 {
		return code, errors.New("interrupted before all sets had ended")
	}
	if err := errors.Join(wrong...); err != nil {
		return exitFailed, err
	}
	for set, o := range s.outcomes {
		if o.ExitCode != 0 {
			if err = fmt.Errorf("set %d, which was disturbed, ended with exit code %d", set, o.ExitCode); code == 0 {
				code = o.ExitCode
			}
		}
	}
	if wrong := s.judge(); wrong != nil {
		return max(code, exitFailed), errors.Join(err, wrong)
	}
	return code, err
}

func (s *sets) signalled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interrupted == 0 {
		return 0
	}
	return exitSignal + int(s.interrupted)
}

// judge compares the sets, and prints and writes the result.
func (s *sets) judge() error {
	result, err := vary.Judge(s.Run, s.outcomes[0], s.outcomes[1:])
	if err != nil {
		return err
	}
	if !s.quiet {
		var table bytes.Buffer
		_ = result.Print(&table) // writing to memory cannot fail
		if _, err := os.Stderr.Write(table.Bytes()); err != nil {
			return fmt.Errorf("show the comparison: %w", err)
		}
	}
	if s.report == nil {
		return nil
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	return s.report.WriteBytes(append(text, '\n'))
}

// one runs one set to its end.
func (s *sets) one(set int, out io.Writer) error {
	of := s.Run
	of.Set = set
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	o := &s.outcomes[set]
	var printed bytes.Buffer
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Env = append(os.Environ(), vary.Variable+"="+string(text))
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &printed), os.Stderr
	// Each command has its own process group, so that a signal of the terminal reaches it
	// once, through intravary.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	if started, err := s.start(cmd, set); !started || err != nil {
		return err
	}
	stop := func() int { return 0 }
	if set > 0 && s.Hold > 0 {
		stop = hold(cmd.Process.Pid, s.Hold)
	}
	err = cmd.Wait()
	o.Held = stop()
	s.mu.Lock()
	delete(s.running, cmd)
	s.mu.Unlock()
	s.watchdog.Forget(cmd.Process.Pid)
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("set %d: %w", set, err)
	}
	if o.ExitCode = cmd.ProcessState.ExitCode(); o.ExitCode < 0 {
		o.ExitCode = exitSignal + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	s.notef("set %d has ended with exit code %d", set, o.ExitCode)
	o.Printed = printed.Bytes()
	o.Records, err = vary.Read(s.Dir, set)
	return err
}

// start starts a command, unless the user has interrupted the run.
func (s *sets) start(cmd *exec.Cmd, set int) (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interrupted != 0 {
		return false, nil
	}
	s.notef("set %d begins", set)
	s.watchdog.Starting()
	if err := cmd.Start(); err != nil {
		s.watchdog.NotStarted()
		return false, err
	}
	s.watchdog.Watch(cmd.Process.Pid)
	s.running[cmd] = true
	return true, nil
}

func (s *sets) notef(format string, args ...any) {
	if s.verbose {
		fmt.Fprintf(os.Stderr, "intravary: "+format+"\n", args...)
	}
}
