package jobtest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is a program of this module that prints one line of JSON. In all runs that line
// must have the same bits.
type Program struct {
	Binaries *Binaries
	Folder   string
	Args     string // arguments of every run
	Times    string // fields that differ between runs; each must be present

	// Check checks the printed line. It may be nil.
	Check func(t testing.TB, line []byte)

	alone map[string]map[string]any // by command line: the output of a run without replicas
}

// Case is one way to run a program.
type Case struct {
	Flags string // flags of intrarun
	Kills string // kills of processes, as for -kill; each must happen
	Args  string // arguments of the program
}

// Same runs each case as a subtest. It compares the output with that of the program
// without the tag and without replicas.
func (p *Program) Same(t *testing.T, cases ...Case) {
	for _, c := range cases {
		flags, kills := c.Flags, strings.Fields(c.Kills)
		for _, kill := range kills {
			flags += " -kill " + kill
		}
		t.Run(strings.TrimSpace(c.Args+" "+flags), func(t *testing.T) {
			want := p.Alone(t, ranks(flags), c.Args)
			got, job := p.run(t, p.Binaries.Program(t, p.Folder), flags, c.Args)
			require.Equal(t, want, got)
			report := job.Summary(t)
			require.Len(t, report.Failures, len(kills), job.Stderr)
			report.RequireFired(t)
		})
	}
}

// Alone returns the output of the program without replicas, as fields of JSON whose
// numbers are text. It runs the program only once.
func (p *Program) Alone(t testing.TB, ranks int, args string) map[string]any {
	t.Helper()
	flags := fmt.Sprintf("-n %d -r 1", ranks)
	key := flags + " " + args
	if p.alone[key] == nil {
		if p.alone == nil {
			p.alone = make(map[string]map[string]any)
		}
		p.alone[key], _ = p.run(t, p.Binaries.Plain(t, p.Folder), flags, args)
	}
	return p.alone[key]
}

// run runs an executable and returns its output without the times.
func (p *Program) run(t testing.TB, executable, flags, args string) (map[string]any, Result) {
	t.Helper()
	command := slices.Concat([]string{executable, "-json"}, strings.Fields(p.Args), strings.Fields(args))
	job := Run(t, Spec{Intrarun: p.Binaries.Intrarun(t), Flags: strings.Fields(flags), Program: command})
	require.Zero(t, job.Code, "%s\n%s", flags, job.Stderr)
	require.Equal(t, 1, strings.Count(job.Stdout, "\n"), job.Stdout)
	if p.Check != nil {
		p.Check(t, []byte(job.Stdout))
	}
	var line map[string]any
	d := json.NewDecoder(strings.NewReader(job.Stdout))
	d.UseNumber()
	require.NoError(t, d.Decode(&line), job.Stdout)
	for _, name := range strings.Fields(p.Times) {
		require.Contains(t, line, name)
		delete(line, name)
	}
	return line, job
}

// Prints runs the program without the tag and without intrarun, and checks that its output
// contains all of want. Blanks are ignored.
func (p *Program) Prints(t testing.TB, args string, want ...string) {
	t.Helper()
	out, err := exec.Command(p.Binaries.Plain(t, p.Folder), strings.Fields(args)...).Output()
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(out)), " ")
	for _, w := range want {
		require.Contains(t, text, w)
	}
}

// Refuses runs the program with wrong arguments, and checks the error message for each.
func (p *Program) Refuses(t testing.TB, want map[string]string) {
	t.Helper()
	for args, want := range want {
		out, err := exec.Command(p.Binaries.Plain(t, p.Folder), strings.Fields(args)...).CombinedOutput()
		require.Error(t, err, args)
		require.Contains(t, string(out), want)
	}
}

// ranks returns the number of ranks with these flags of intrarun.
func ranks(flags string) int {
	n, all := 1, strings.Fields(flags)
	for i, f := range all {
		switch f {
		case "-n":
			fmt.Sscan(all[i+1], &n)
		case "-degrees":
			return strings.Count(all[i+1], ",") + 1
		}
	}
	return n
}
