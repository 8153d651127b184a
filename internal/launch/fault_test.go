package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

func TestFaultsOfEachKind(t *testing.T) {
	var j Job
	for _, spec := range []string{"flip:0.1@task:30", "defect:1.0,q=0.001", "flip:0.1@message:5:2", "weibull:shape=0.7,mtbf=20s", "again:1.1@3-7"} {
		require.NoError(t, j.Faults.Add(spec), spec)
	}
	require.Equal(t, []job.Flip{
		{Process: job.Process{Rank: 0, Replica: 1}, Point: job.FlipTask, Count: 30, Bit: job.AnyBit},
		{Process: job.Process{Rank: 1}, Point: job.FlipTask, Bit: job.AnyBit, Rate: 0.001},
		{Process: job.Process{Rank: 0, Replica: 1}, Point: job.FlipMessage, Count: 5, Bit: 2},
	}, j.Faults.Flips)
	require.Equal(t, []job.Again{{Process: job.Process{Rank: 1, Replica: 1}, From: 3, To: 7}}, j.Faults.Again)
	require.ErrorContains(t, j.Faults.validate([]int{2, 1}), "-fault again:1.1@3-7: the job has no process 1.1")
	require.Equal(t, &head.Weibull{Shape: 0.7, MTBF: 20 * time.Second}, j.Faults.Weibull)
	require.Equal(t, "flip:0.1@task:30", j.Faults.Flips[0].Fault())
	require.Equal(t, "defect:1.0,q=0.001", j.Faults.Flips[1].Fault())
	require.ErrorContains(t, j.Faults.Add("weibull:shape=1,mtbf=1s"), "at most once")
}

func TestInvalidFaultsNameTheCure(t *testing.T) {
	for spec, want := range map[string]string{
		"":                         `unknown kind "": want flip:RANK.REPLICA@WHAT:N, defect:`,
		"0.1@task:3":               `unknown kind "0.1@task": want flip:`,
		"stale:1":                  `"1": want stale, without anything behind`,
		"again:0.1":                "names no safe points: want RANK.REPLICA@FROM-TO",
		"flip":                     "is not a flip: want RANK.REPLICA@task:N",
		"flip:0.1,q=1":             "is not a flip",
		"defect:0.1@task:3":        "is not a defect: want RANK.REPLICA,q=RATE",
		"weibull:20s":              "neither a shape nor an mtbf",
		"weibull:shape=0,mtbf=1s":  "want a number from 0.1 to 100",
		"weibull:shape=1,mtbf=20":  "want a duration of at least 1ms",
		"weibull:shape=1":          "want shape=S,mtbf=T",
		"kill:0.1@task:3":          "want -kill 0.1@task:3",
		"weibull:mtbf=1s,shape=1,": "neither a shape nor an mtbf",
	} {
		var j Job
		require.ErrorContains(t, j.Faults.Add(spec), want, spec)
		require.Equal(t, Job{}, j, spec)
	}
}
