package fault

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestPoints(t *testing.T) {
	var died []job.Kill
	due := []job.Kill{
		{Point: job.KillTask, Count: 2}, {Point: job.KillUpdate, Count: 0},
		{Point: job.KillJoin, Step: "copy"}, {Point: job.KillJoin, Step: "go"},
	}
	k := New(due, func(d job.Kill) { died = append(died, d) })
	for range 5 {
		k.At(job.KillTask)
		k.At(job.KillSection)
	}
	require.Equal(t, due[:1], died, "only the third, and only once")

	require.Nil(t, k.Mid(job.KillMessage), "nothing is due there")
	mid := k.Mid(job.KillUpdate)
	require.False(t, mid(), "the transfer does not continue")
	require.True(t, k.Mid(job.KillUpdate)())
	require.Equal(t, due[:2], died)

	require.False(t, k.Step(job.KillJoin, "state"))
	require.False(t, k.Step(job.KillBackup, "copy"))
	require.True(t, k.Step(job.KillJoin, "copy"))
	require.False(t, k.Step(job.KillJoin, "copy"), "a step counts only once")
	require.Equal(t, due[:3], died)
	went := true
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.StepHere(job.KillJoin, "go")
		went = false
	}()
	<-done
	require.True(t, went, "the goroutine of the program ends")
	require.Equal(t, due, died)
}
