package filebench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// writer writes the same file in each call of write.
type writer interface {
	write() (Times, error)
	end() error // after the last file
}

// start starts the processes that write in one of the compared ways.
func start(ctx context.Context, commands [][]string) (writer, error) {
	var all plainWriter
	for _, c := range commands {
		p, err := startProcess(ctx, c)
		if err != nil {
			_ = all.end() // err is the cause
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) == 1 {
		return jobWriter{all[0]}, nil
	}
	return all, nil
}

// jobWriter writes a file with a job.
type jobWriter struct{ *process }

func (w jobWriter) write() (t Times, err error) {
	if err := w.tell("write"); err != nil {
		return t, err
	}
	line, err := w.line()
	if err != nil {
		return t, err
	}
	return t, trial.Decode("the job printed", []byte(line), &t)
}

// process is a process that answers each line with a line.
type process struct {
	cmd *exec.Cmd
	to  io.WriteCloser
	out *bufio.Scanner
}

func startProcess(ctx context.Context, command []string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	// intrarun ends its processes after a SIGTERM.
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 5 * time.Second
	p.cmd.Stderr = os.Stderr
	var from io.Reader
	var err error
	if p.to, err = p.cmd.StdinPipe(); err == nil {
		from, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	p.out = bufio.NewScanner(from)
	return p, nil
}

func (p *process) tell(line string) error {
	_, err := io.WriteString(p.to, line+"\n")
	return err
}

// line returns the next line that the process prints.
func (p *process) line() (string, error) {
	if !p.out.Scan() {
		return "", fmt.Errorf("%s has printed nothing more: %w", p.cmd.Path, io.ErrUnexpectedEOF)
	}
	return p.out.Text(), nil
}

// end ends the process.
func (p *process) end() error {
	p.to.Close() // it ends, or has ended
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.cmd.Path, err)
	}
	return nil
}
