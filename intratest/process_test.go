package intratest_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// asProgram makes the test binary run as the program of intrarun. Its value names the
// fault.
const asProgram = "INTRATEST_PROGRAM"

// binaries are programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) {
	if fault := os.Getenv(asProgram); fault != "" {
		intra.Main(func(p *intra.Process) error { return program(p, fault) })
	}
	os.Exit(binaries.Main(m))
}

// program runs ten sections. The seventh one has the fault.
func program(p *intra.Process, fault string) error {
	x, w := numbers(1000), make([]float64, 1000)
	for k := range 10 {
		bad := k == 6
		if bad && fault == "in differs" {
			x[40] += float64(p.Replica())
		}
		s := p.Section()
		for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
			x, w := x[lo:hi], w[lo:hi]
			s.Launch(taskKernel, func() {
				for i := range w {
					w[i] = x[i] + float64(k)
				}
				switch {
				case !bad:
				case fault == "results are used again":
					w[0] -= w[1] + hidden[0]
					w[2] += w[0]
					w[len(w)-1] = w[len(w)-2]
				case fault == "in is written":
					x[3] = 0
				case fault == "out differs":
					w[5] = float64(p.Replica())
				}
			}, intra.In("x", x), intra.Out("w", w))
		}
		if bad && fault == "argument is written" {
			x[77] = 0
		}
		if bad && fault == "out is accumulated" {
			s.Launch(taskOther, func() { hidden[1] += x[0] }, intra.In("x", x), intra.Out("hidden", hidden[:]))
		}
		if err := s.End(); err != nil {
			return err
		}
	}
	if fault == "it fails" {
		return errors.New("no convergence")
	}
	return nil
}

// The exit codes of real processes reflect the findings.
func TestCheckedProcesses(t *testing.T) {
	intrarun := binaries.Intrarun(t)
	for _, tt := range []struct {
		fault, flags string
		code         int
		want         string
	}{
		{"none", "-r 1 -check", 0, ""},
		{"none", "-r 2 -check", 0, ""},
		{"none", "-r 3 -check -kill 0.0@section:3 -kill 0.2@task:100", 0, ""},
		{"none", "-r 2 -check -link tcp", 0, ""},
		{"results are used again", "-r 2 -check", 0, ""}, // results that were written before the launch
		{"out is accumulated", "-r 2 -check", 1, "test.other: out(hidden) element 1 is read before it is written: make it inout(hidden)"},
		{"out is accumulated", "-r 1 -check", 1, "out(hidden) element 1"},
		{"in is written", "-r 2 -check", 1, "test.kernel: in(x) element 3 is written by the body: move it to inout(x)"},
		{"argument is written", "-r 2 -check", 1, "in(x) element 14 was written between the launch and the end of the section"},
		{"argument is written", "-r 2", 0, ""}, // without -check nothing is checked
		{"in differs", "-r 2 -check", 4, "section 6, task 0: here at the entry of the section, in(x) of test.kernel"},
		{"in differs", "-r 3 -check -kill 0.0@section:2", 4, "section 6"},
		{"out differs", "-r 2 -check", 4, "at its end, out(w) of test.kernel"},
		{"it fails", "-r 2 -check", 1, "no convergence"},
	} {
		t.Run(tt.fault+" "+tt.flags, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), intrarun, append(strings.Fields(tt.flags), os.Args[0])...)
			cmd.Env = append(os.Environ(), asProgram+"="+tt.fault)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			_ = cmd.Run() // the exit code shows the result
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), "%s", &stderr)
			require.Contains(t, stderr.String(), tt.want)
			if tt.code == 1 && tt.fault != "it fails" {
				require.Contains(t, stderr.String(), "finding of 0.")
			}
		})
	}
}
