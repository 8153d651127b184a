package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestKillPoints(t *testing.T) {
	var died []job.Kill
	due := []job.Kill{
		{Point: job.KillTask, Count: 2}, {Point: job.KillUpdate, Count: 0},
		{Point: job.KillJoin, Step: "copy"}, {Point: job.KillJoin, Step: "go"},
	}
	k := newKills(due, func(d job.Kill) { died = append(died, d) })
	for range 5 {
		k.at(job.KillTask)
		k.at(job.KillSection)
	}
	require.Equal(t, due[:1], died, "the third one, once")

	require.Nil(t, k.mid(job.KillMessage), "nothing is due there")
	mid := k.mid(job.KillUpdate)
	require.False(t, mid(), "the transfer goes no further")
	require.True(t, k.mid(job.KillUpdate)())
	require.Equal(t, due[:2], died)

	require.False(t, k.step(job.KillJoin, "state"))
	require.False(t, k.step(job.KillBackup, "copy"))
	require.True(t, k.step(job.KillJoin, "copy"))
	require.False(t, k.step(job.KillJoin, "copy"), "a step counts once")
	require.Equal(t, due[:3], died)
	went := true
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.stepHere(job.KillJoin, "go")
		went = false
	}()
	<-done
	require.True(t, went, "the goroutine of the program ends")
	require.Equal(t, due, died)
}
