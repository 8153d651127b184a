package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Options describes the jobs to run.
type Options struct {
	Sizes    []int         `json:"sizes"` // number of processes of each job
	Degree   int           `json:"degree"`
	Messages int           `json:"messages"`
	Rest     time.Duration `json:"rest_nanoseconds"`
}

// Programs are the command lines of the programs.
type Programs struct {
	Intrarun string
	Job      []string // command of the program that calls Program; its first argument is a name by which its processes are found
}

// Row is the measurement of one job.
type Row struct {
	Processes int     `json:"processes"`
	Start     float64 `json:"start_seconds"` // from the start of intrarun until all processes had joined
	End       float64 `json:"end_seconds"`   // from the last result to the exit of intrarun
	Latency

	Links     float64 `json:"links"`      // links of a process, on average
	MostLinks int     `json:"most_links"` // largest number of links of a process

	Memory         float64 `json:"memory_bytes"`          // memory of a process; shared memory counts once
	LauncherMemory float64 `json:"launcher_memory_bytes"` // memory of intrarun

	// The following values are per second, measured while rank 0 rests and all others wait for
	// it.
	Wakeups         float64 `json:"wakeups"` // wake-ups of a process
	CPU             float64 `json:"cpu"`     // cores used by all processes of the job
	LauncherWakeups float64 `json:"launcher_wakeups"`
	LauncherCPU     float64 `json:"launcher_cpu"`
}

// Measure runs one job of each size. It prints each size to progress before it runs the job.
func Measure(ctx context.Context, programs Programs, o Options, progress io.Writer) ([]Row, error) {
	var rows []Row
	for _, n := range o.Sizes {
		fmt.Fprintf(progress, "a job of %d processes\n", n)
		r, err := measure(ctx, programs, o, n)
		if err != nil {
			return rows, fmt.Errorf("a job of %d processes: %w", n, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func measure(ctx context.Context, programs Programs, o Options, n int) (r Row, err error) {
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		return r, fmt.Errorf("make room for the report: %w", err)
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.json")
	args := append([]string{"-quiet", "-report", report, "-n", strconv.Itoa(n / o.Degree), "-r", strconv.Itoa(o.Degree)}, programs.Job...)
	cmd := exec.CommandContext(ctx, programs.Intrarun, append(args, "-messages", strconv.Itoa(o.Messages), "-rest", o.Rest.String())...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var diag strings.Builder
	cmd.Stderr = &diag
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, fmt.Errorf("start intrarun: %w", err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return r, fmt.Errorf("start intrarun: %w", err)
	}
	r.Processes = n
	err = r.watch(bufio.NewReader(out), cmd.Process.Pid, programs.Job[1], o.Rest)
	if err != nil {
		cmd.Cancel()
	}
	rested := time.Now()
	if _, drained := io.Copy(io.Discard, out); err == nil {
		err = drained
	}
	if ended := cmd.Wait(); ended != nil {
		return r, errors.Join(err, ctx.Err(), fmt.Errorf("intrarun: %w\n%s", ended, strings.TrimSpace(diag.String())))
	}
	if err != nil {
		return r, err
	}
	// watch returned when a quarter of the rest was left. The end begins after that quarter.
	r.End = max(0, (time.Since(rested) - o.Rest/4).Seconds())
	b, err := os.ReadFile(report)
	if err != nil {
		return r, fmt.Errorf("read the report: %w", err)
	}
	return r, r.read(b, began)
}

// watch reads the output of rank 0, and then measures the resource use of the job in the
// middle of the rest.
func (r *Row) watch(out *bufio.Reader, root int, name string, rest time.Duration) error {
	line, err := out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read what rank 0 prints: %w", err)
	}
	if err := trial.Decode("rank 0 printed", line, &r.Latency); err != nil {
		return err
	}
	printed := time.Now()
	time.Sleep(rest / 4)
	before, err := look(root, name)
	if err != nil {
		return err
	}
	from := time.Now()
	time.Sleep(time.Until(printed.Add(3 * rest / 4)))
	after, err := look(root, name)
	if err != nil {
		return err
	}
	seconds := time.Since(from).Seconds()
	if n := after.job.processes; n != r.Processes || n != before.job.processes {
		return fmt.Errorf("%d of %d processes of the job were there to the end of the watch: give a longer -rest", n, r.Processes)
	}
	r.Memory = float64(after.job.memory) / float64(r.Processes)
	r.LauncherMemory = float64(after.launcher.memory)
	r.Wakeups = float64(after.job.wakeups-before.job.wakeups) / seconds / float64(r.Processes)
	r.CPU = (after.job.cpu - before.job.cpu) / seconds
	r.LauncherWakeups = float64(after.launcher.wakeups-before.launcher.wakeups) / seconds
	r.LauncherCPU = (after.launcher.cpu - before.launcher.cpu) / seconds
	return nil
}

// read reads the report of intrarun. began is the time at which intrarun was started.
func (r *Row) read(report []byte, began time.Time) error {
	var said struct {
		Joined    time.Time `json:"joined"`
		Processes []struct {
			Links int `json:"links"`
		} `json:"processes"`
	}
	if err := json.Unmarshal(report, &said); err != nil {
		return fmt.Errorf("%w: the report of intrarun: %w", trial.ErrOutput, err)
	}
	if said.Joined.IsZero() || len(said.Processes) != r.Processes {
		return fmt.Errorf("%w: the report of intrarun names %d processes, want %d, which joined at %v", trial.ErrOutput, len(said.Processes), r.Processes, said.Joined)
	}
	r.Start = said.Joined.Sub(began).Seconds()
	for _, p := range said.Processes {
		r.Links += float64(p.Links) / float64(r.Processes)
		r.MostLinks = max(r.MostLinks, p.Links)
	}
	return nil
}
