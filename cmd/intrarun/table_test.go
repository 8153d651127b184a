//go:build linux

package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/help.txt and the table in docs/flags.md")

// samples are arguments for flags.
var samples = map[string]string{
	"n": "2", "r": "2", "degrees": "2,2", "threads": "2", "bind": "none", "stdin": "none", "hosts": "localhost:8", "hostfile": "f", "rsh": "ssh {host}", "fanout": "2",
	"head": "h", "link": "unix", "ring": "64K", "limit": "1GB/s", "sched": "static", "lag": "1s", "direct": "on", "spares": "1", "backup": "5", "checkpoint": "d",
	"checkpoint-every": "5", "restart": "d", "sdc": "dual", "diverge": "warn", "seed": "7", "stuck": "5s", "endless": "5s", "grace": "5s", "clone": "0.1=nice", "counters": "page-faults",
	"report": "r", "status-every": "1s", "http": ":0", "http-token": "a-long-token", "trace": "t", "trace-limit": "2M", "kill": "0.1@1h",
	"fault": "flip:0.1@task:3", "flip": "0.1@task:3", "again": "0.1@3-5", "defect": "0.1,q=0.5", "weibull": "shape=1,mtbf=1h",
}

// sample returns a flag, or a term about one, with an argument.
func sample(term string) string {
	name, argument, one := strings.Cut(term, "=")
	r := find(name)
	switch {
	case one && name == "fault":
		return "-fault=" + argument + ":" + samples[argument]
	case one:
		return "-" + term
	case r.arg == "":
		return "-" + name
	}
	return "-" + name + "=" + samples[name]
}

// TestEveryFlagIsRead gives each flag a distinct argument.
func TestEveryFlagIsRead(t *testing.T) {
	for i := range table {
		r := &table[i]
		require.Equal(t, r.arg != "", samples[r.name] != "", r.name)
		o := newOptions()
		rest, err := o.read([]string{sample(r.name), "program"})
		require.NoError(t, err, r.name)
		require.Equal(t, []string{"program"}, rest)
		require.True(t, o.has(r.name))
		require.Contains(t, groups, r.group)
	}
}

// TestEveryRuleRefuses violates each rule of the table that concerns flags only.
func TestEveryRuleRefuses(t *testing.T) {
	t.Setenv(tokenVariable, "")
	rules := 0
	refused := func(want string, args ...string) {
		rules++
		_, err := parse(append(args, "true"), io.Discard)
		require.ErrorContains(t, err, want, args)
	}
	for i := range table {
		r := &table[i]
		for _, n := range r.needs {
			refused("-"+r.name+" needs "+spell(n.any)+", because "+n.why+": add ", sample(r.name))
			for _, term := range n.any {
				if !isFact(term) {
					_, err := parse([]string{sample(r.name), sample(term), "-n=2", "true"}, io.Discard)
					require.NoError(t, err, "%s %s", r.name, term)
				}
			}
		}
		for _, c := range r.excludes {
			if isFact(c.with) {
				continue
			}
			args := []string{sample(r.name), sample(c.with)}
			if c.when != nil {
				args[0] = sample(r.name + "=" + c.when[0])
			}
			for _, n := range r.needs { // otherwise the error about the need comes first
				if slices.Contains(n.any, hostList) {
					args = append(args, sample("hosts"))
				}
			}
			if c.with == "mpi" || c.with == "link=mpi" { // there is no launcher, which -mpi needs
				o := newOptions()
				_, err := o.read(args)
				require.NoError(t, err)
				rules++
				require.ErrorContains(t, o.refuse(false), " exclude each other, because "+c.why)
				continue
			}
			refused(" and -"+strings.Replace(c.with, "=", " ", 1)+" exclude each other, because "+c.why+": ", args...)
		}
	}
	require.Greater(t, rules, 25)
}

// TestOffFlagsTriggerNoRule checks that a flag with its off argument triggers no rule.
func TestOffFlagsTriggerNoRule(t *testing.T) {
	for _, args := range []string{"-check -spares 0", "-check -replace=false", "-check -sdc off", "-check -direct off", "-check -direct=auto", "-restart-anyway=false",
		"-sdc sample -r 1", "-tls=0", "-v -quiet=f", "-link tcp -link shm -direct"} {
		_, err := parse(append(strings.Fields(args), "true"), io.Discard)
		require.NoError(t, err, args)
	}
	for _, args := range []string{"-backup 3 -spares 0 -n 2", "-seed 3 -sdc off", "-direct=true -check", "-direct -link shm -link tcp", "-sdc state=4,dual -degrees 2,1"} {
		_, err := parse(append(strings.Fields(args), "true"), io.Discard)
		require.Error(t, err, args)
	}
}

// TestOldSpellingsOfFaults checks that old spellings give the same job as the new ones, with a
// warning for each flag.
func TestOldSpellingsOfFaults(t *testing.T) {
	var warnings strings.Builder
	before, err := parse(strings.Fields("-flip 0.1@task:3 -flip 0.0@state:1:5 -defect 0.1,q=0.5 -weibull shape=1,mtbf=1h -seed 4 true"), &warnings)
	require.NoError(t, err)
	require.Equal(t, `intrarun: warning: -flip is an old spelling, which only this version reads: write -fault flip:0.1@task:3
intrarun: warning: -defect is an old spelling, which only this version reads: write -fault defect:0.1,q=0.5
intrarun: warning: -weibull is an old spelling, which only this version reads: write -fault weibull:shape=1,mtbf=1h
`, warnings.String())
	warnings.Reset()
	now, err := parse(strings.Fields("-fault flip:0.1@task:3 -fault flip:0.0@state:1:5 -fault defect:0.1,q=0.5 -fault weibull:shape=1,mtbf=1h -seed 4 true"), &warnings)
	require.NoError(t, err)
	require.Empty(t, warnings.String())
	require.Equal(t, now, before)
	_, err = parse(strings.Fields("-quiet -flip 0.1@task:3 true"), &warnings)
	require.NoError(t, err)
	require.Empty(t, warnings.String())
	_, err = parse(strings.Fields("-flip 0.1 true"), &warnings)
	require.ErrorContains(t, err, `-flip 0.1: "0.1" is not a flip`)
}

func TestHelp(t *testing.T) {
	golden := filepath.Join("testdata", "help.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(help()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), help(), "go test ./cmd/intrarun -run TestHelp -update writes it")
	for line := range strings.Lines(help()) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), helpWidth, line)
		require.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), "spaces at an end")
	}
	common := 0
	for i := range table {
		if table[i].common {
			common++
		}
	}
	require.Equal(t, 10, common)
	out, err := command("-h").CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, help(), string(out))
}

// TestGuide checks that the table in docs/flags.md is the one of the code.
func TestGuide(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "flags.md")
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	head, now, found := strings.Cut(string(b), guideHeading)
	require.True(t, found, "%s has no %q", page, guideHeading)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+guide()), 0o644))
		return
	}
	require.True(t, guide() == guideHeading+now, "docs/flags.md is stale: go test ./cmd/intrarun -run TestGuide -update writes it")
}
