//go:build !intra

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// The test in this file starts real processes through intrarun and kills them with real
// signals. It builds the programs itself, with and without the tag, so it can be run
// without the tag.

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// intrarun runs a program with flags of intrarun, and returns its final state.
func intrarun(t *testing.T, flags, program, args string) (state string, report *jobtest.Report) {
	t.Helper()
	job := jobtest.Run(t, jobtest.Spec{
		Intrarun: binaries.Intrarun(t),
		Flags:    strings.Fields("-quiet " + flags),
		Program:  append([]string{program}, strings.Fields(args)...),
	})
	require.Zero(t, job.Code, "%s\n%s", flags, job.Stderr)
	var r result
	require.NoError(t, json.Unmarshal([]byte(job.Stdout), &r), flags)
	require.Len(t, r.StateSHA256, 64, flags)
	return r.StateSHA256, job.Summary(t)
}

// Any replica may die anywhere: a job with two ranks and two replicas each ends with the
// state of the plain program, which has no deaths and no replicas.
func TestKillsOfRealProcesses(t *testing.T) {
	const folder = "examples/gtc"
	gtc := binaries.Program(t, folder)
	const args = "-micell 2 -mpsi 10 -mthetamax 40 -mzetamax 2 -steps 2 -json"
	want, _ := intrarun(t, "-n 2 -r 1", binaries.Plain(t, folder), args)
	got, _ := intrarun(t, "-n 2 -r 2", gtc, args)
	require.Equal(t, want, got)
	// The counts of each process: 29 sections, 208 tasks and as many updates, and more than
	// 60 messages.
	most := map[string]int{"section": 28, "task": 207, "update": 207, "message": 60}
	for i, point := range []string{"section", "task", "update", "message"} {
		for _, at := range jobtest.Some([]int{0, 1, 2, 3, 4}, 1, 3) {
			link := []string{"shm -ring 4096", "unix", "tcp"}[(i+at)%3]
			kill := fmt.Sprintf("%d.%d@%s:%d", at%2, (i+at)/2%2, point, at*most[point]/4)
			flags := fmt.Sprintf("-n 2 -r 2 -sched static -link %s -kill %s", link, kill)
			got, report := intrarun(t, flags, gtc, args)
			require.Equal(t, want, got, flags)
			report.RequireFired(t)
			require.Len(t, report.Failures, 1, flags)
			require.Equal(t, job.CauseInjected, report.Failures[0].Cause, flags)
		}
	}
	for _, kept := range []string{"-n 1 -r 2 -lag 1ms -fault stale", "-n 2 -r 2 -lag 1ms -fault stale -kill 1.0@section:20"} {
		want, _ := intrarun(t, kept[:4]+" -r 1", binaries.Plain(t, folder), args)
		got, report := intrarun(t, kept, gtc, args)
		require.Equal(t, want, got, kept)
		report.RequireFired(t)
	}
}
