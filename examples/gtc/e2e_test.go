//go:build !intra

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test in this file starts real processes through intrarun and kills them
// with real signals. It builds the programs both ways itself, so running it
// without the tag is enough.

// jobs runs the programs that it has built.
type jobs struct{ dir string }

func build(t *testing.T) jobs {
	t.Helper()
	j := jobs{t.TempDir()}
	for _, args := range [][]string{
		{"build", "-o", filepath.Join(j.dir, "intrarun"), "../../cmd/intrarun"},
		{"build", "-tags", "intra", "-o", filepath.Join(j.dir, "gtc"), "."},
		{"build", "-o", filepath.Join(j.dir, "plain"), "."},
	} {
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		require.NoError(t, err, "go %s: %s", strings.Join(args, " "), out)
	}
	return j
}

// outcome is what a run printed and what its report says.
type outcome struct {
	state  string
	report struct {
		Kills    []struct{ Fired bool }
		Failures []struct{ Cause string }
	}
}

func (j jobs) run(t *testing.T, flags, program, args string) outcome {
	t.Helper()
	file := filepath.Join(j.dir, "report.json")
	all := append(strings.Fields("-quiet -report "+file+" "+flags), filepath.Join(j.dir, program))
	out, err := exec.CommandContext(t.Context(), filepath.Join(j.dir, "intrarun"), append(all, strings.Fields(args)...)...).Output()
	require.NoError(t, err, flags)
	var r result
	require.NoError(t, json.Unmarshal(out, &r), flags)
	require.Len(t, r.StateSHA256, 64, flags)
	o := outcome{state: r.StateSHA256}
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &o.report), "%s", b)
	return o
}

// Any replica may die anywhere: two replicas of two ranks end with the state of
// the plain program, which nobody killed and nobody helped.
func TestKillsOfRealProcesses(t *testing.T) {
	j := build(t)
	const args = "-micell 2 -mpsi 10 -mthetamax 40 -mzetamax 2 -steps 2 -json"
	want := j.run(t, "-n 2 -r 1", "plain", args).state
	require.Equal(t, want, j.run(t, "-n 2 -r 2", "gtc", args).state)
	// Of each process: 29 sections, 208 tasks and as many updates, and more
	// than 60 messages.
	most := map[string]int{"section": 28, "task": 207, "update": 207, "message": 60}
	for i, point := range []string{"section", "task", "update", "message"} {
		for at := range 5 {
			link := []string{"shm -ring 4096", "unix", "tcp"}[(i+at)%3]
			kill := fmt.Sprintf("%d.%d@%s:%d", at%2, (i+at)/2%2, point, at*most[point]/4)
			flags := fmt.Sprintf("-n 2 -r 2 -sched static -link %s -kill %s", link, kill)
			o := j.run(t, flags, "gtc", args)
			require.Equal(t, want, o.state, flags)
			require.True(t, o.report.Kills[0].Fired, flags)
			require.Len(t, o.report.Failures, 1, flags)
			require.Equal(t, "injected", o.report.Failures[0].Cause, flags)
		}
	}
}
