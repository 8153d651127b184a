//go:build linux

package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/launch"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

func TestReportCommand(t *testing.T) {
	r := runJob(t, "-r 2", steps.Program("join", "0.1@kill:9", "finish")...)
	require.Zero(t, r.code, r.stderr)
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := command(append([]string{"-r", "2", "-report", file}, steps.Program("join", "0.1@kill:9", "finish")...)...)
	require.NoError(t, cmd.Run())
	out, err := command("report", file).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "exit code  0: every rank finished\n")
	require.Contains(t, string(out), "0.1 died (signal): killed by SIGKILL\n")
	out, err = command("report", file, file).Output()
	require.NoError(t, err)
	require.Regexp(t, `deaths +1 +1 +1\.000\n`, string(out))
}

func TestWrongCommandLinesOfCommands(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "none")
	for want, args := range map[string][]string{
		"intrarun report: want one report or two":                      {"report"},
		"intrarun report: read the report: open " + nothing:            {"report", nothing},
		os.Args[0] + " is no report of intrarun":                       {"report", os.Args[0]},
		"intrarun grow: want a job and hosts":                          {"grow", "1"},
		"intrarun grow: \"x\" is no job":                               {"grow", "x", "h"},
		"intrarun degree: want a job, and how many replicas":           {"degree", "1"},
		"intrarun degree: \"x\" is no job":                             {"degree", "x", "0=1"},
		"intrarun degree: \"0\": want RANK=N, like 0=2":                {"degree", "1", "0"},
		"intrarun degree: \"0=0\": want RANK=N, like 0=2":              {"degree", "1", "0=0"},
		"intrarun degree: \"0=1\": rank 0 is named twice":              {"degree", "1", "0=2", "0=1"},
		"intrarun join: want the address of the head":                  {"join"},
		"intrarun join: \"h\" is no address of a head: want HOST:PORT": {"join", "h"},
		"intrarun join: -slots 0: want a number of processes from 1":   {"join", "-slots", "0", "h:1"},
		"intrarun join: INTRA_SECRET_FILE is not set":                  {"join", "h:1"},
		"intrarun status: \"x\" is no job":                             {"status", "x"},
		"intrarun status: want one job":                                {"status", "1", "2"},
		"intrarun status: flag provided but not defined: -y":           {"status", "-y"},
		"intrarun status: process 1 is no intrarun of yours that runs": {"status", "1"},
	} {
		out, err := command(args...).CombinedOutput()
		require.Error(t, err, args)
		require.Contains(t, string(out), want)
	}
}

func TestReplicasInARange(t *testing.T) {
	for _, c := range []struct {
		args    []string
		most    []int
		started int
	}{
		{[]string{"-n", "2", "-r", "1..2", "-hosts", "a:2"}, []int{2, 2}, 2},
		{[]string{"-n", "2", "-r", "1..2", "-hosts", "a:2,b:1"}, []int{2, 2}, 3},
		{[]string{"-n", "1", "-r", "2..3", "-hosts", "a:9"}, []int{3}, 3},
		{[]string{"-degrees", "1..3,1,2..2", "-hosts", "a:3,b:2"}, []int{3, 1, 2}, 5},
		{[]string{"-degrees", "1..2,1", "-spares", "1", "-hosts", "a:3"}, []int{2, 1}, 2},
	} {
		got, err := parse(append(c.args, "true"), io.Discard)
		require.NoError(t, err, c.args)
		require.Equal(t, c.most, got.Degrees, c.args)
		require.Len(t, got.Placement.Of, c.started, c.args)
		require.True(t, got.Replace, c.args)
	}
	for want, args := range map[string][]string{
		"-r 2..1: want MIN..MAX replicas of each rank": {"-r", "2..1", "-hosts", "a:2"},
		"-r 0..1: want MIN..MAX":                       {"-r", "0..1", "-hosts", "a:2"},
		"-r 1..2 needs several hosts":                  {"-r", "1..2"},
		"4 processes for 3 slots":                      {"-n", "2", "-r", "2..3", "-hosts", "a:3"},
		"-degrees 1..2 needs several hosts":            {"-degrees", "1..2"},
		"\"2..1\" is not a range of replicas":          {"-degrees", "2..1"},
		"\"0..1\" is not a number of replicas":         {"-degrees", "1,0..1"},
		"-n 3, but -degrees 1..2,1 is for 2 ranks":     {"-n", "3", "-degrees", "1..2,1", "-hosts", "a:3"},
	} {
		_, err := parse(append(args, "true"), io.Discard)
		require.ErrorContains(t, err, want, args)
	}
	fixed, err := parse([]string{"-degrees", "2..2,1..1", "true"}, io.Discard)
	require.NoError(t, err)
	require.Nil(t, fixed.Least, "no rank has a range")
	require.False(t, fixed.Replace)
}

func TestStuckFlag(t *testing.T) {
	for _, c := range []struct {
		args []string
		want launch.Stuck
	}{
		{nil, launch.Stuck{After: 30 * time.Second}},
		{[]string{"-stuck", "5s"}, launch.Stuck{After: 5 * time.Second}},
		{[]string{"-stuck", "off"}, launch.Stuck{}},
		{[]string{"-stuck", "abort"}, launch.Stuck{After: 30 * time.Second, Abort: true}},
		{[]string{"-stuck", "5s", "-stuck", "abort"}, launch.Stuck{After: 5 * time.Second, Abort: true}},
		{[]string{"-stuck", "abort", "-stuck", "5s"}, launch.Stuck{After: 5 * time.Second, Abort: true}},
		{[]string{"-stuck", "abort", "-stuck", "off"}, launch.Stuck{}},
	} {
		got, err := parse(append(c.args, "true"), io.Discard)
		require.NoError(t, err, c.args)
		require.Equal(t, c.want, got.Stuck, c.args)
	}
	for _, args := range [][]string{{"-stuck", "1s"}, {"-stuck", "on"}, {"-stuck", ""}, {"-stuck", "-5s"}, {"-status-every", "1ms"}, {"-status-every", "x"}} {
		_, err := parse(append(args, "true"), io.Discard)
		require.Error(t, err, args)
	}
	got, err := parse([]string{"-status-every", "30s", "true"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, got.Status)
}
