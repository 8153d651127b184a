package filebench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// The steps of a plain process. The process performs a step when it reads the name of the step,
// and prints that name when the step is done.
const (
	stepCreate = "create" // the first process makes a new file under a temporary name
	stepOpen   = "open"   // the other processes open that file
	stepWrite  = "write"
	stepSync   = "sync"
	stepRename = "rename" // the first process gives the file its name, and makes that durable
)

// Plain is the program of a plain process.
func Plain(j Job, rank int, in io.Reader, out io.Writer) error {
	part, at := j.part(rank)
	temp := j.Name + ".part"
	var f *os.File
	steps := map[string]func() error{
		stepCreate: func() (err error) {
			f, err = os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
			return err
		},
		stepOpen: func() (err error) {
			f, err = os.OpenFile(temp, os.O_WRONLY, 0)
			return err
		},
		stepWrite: func() error {
			return j.calls(part, at, func(b []byte, at int64) error {
				_, err := f.WriteAt(b, at)
				return err
			})
		},
		stepSync: func() error { return errors.Join(f.Sync(), f.Close()) },
		stepRename: func() error {
			if err := os.Rename(temp, j.Name); err != nil {
				return err
			}
			folder, err := os.Open(filepath.Dir(j.Name))
			if err != nil {
				return err
			}
			return errors.Join(folder.Sync(), folder.Close())
		},
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		step, ok := steps[lines.Text()]
		if !ok {
			return fmt.Errorf("read %q: want a step, like %s", lines.Text(), stepWrite)
		}
		if err := step(); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// plainWriter writes a file with plain processes, one for each rank.
type plainWriter []*process

func (w plainWriter) write() (t Times, err error) {
	first, others := w[:1], w[1:]
	began := time.Now()
	if err := errors.Join(first.step(stepCreate), others.step(stepOpen)); err != nil {
		return t, err
	}
	made := time.Now()
	if err := w.step(stepWrite); err != nil {
		return t, err
	}
	t.Write = time.Since(made).Seconds()
	if err := errors.Join(w.step(stepSync), first.step(stepRename)); err != nil {
		return t, err
	}
	t.Whole = time.Since(began).Seconds()
	return t, nil
}

// step makes all processes perform a step at the same time, and waits until each has done so.
func (w plainWriter) step(name string) error {
	for _, p := range w {
		if err := p.tell(name); err != nil {
			return err
		}
	}
	for _, p := range w {
		line, err := p.line()
		if err != nil {
			return err
		}
		if line != name {
			return fmt.Errorf("a plain process printed %q, want %q", line, name)
		}
	}
	return nil
}

func (w plainWriter) end() (err error) {
	for _, p := range w {
		err = errors.Join(err, p.end())
	}
	return err
}
