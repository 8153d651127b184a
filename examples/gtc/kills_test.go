//go:build intra

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"

	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/intratest"
)

// A replica dies at every kind of point, at many places in the program. With the static
// schedule every replica runs its own tasks, so each number means another place.
func TestKills(t *testing.T) {
	set := small(2)
	want := state(t, set)
	for kind, last := range map[string]int{"section": 28, "task": 56, "update": 56, "message": 60} {
		for k := 0; k < last; k += 3 {
			rank, replica := k%2, k/2%2
			kill := fmt.Sprintf("%d.%d@%s:%d", rank, replica, kind, k)
			t.Run(kill, func(t *testing.T) {
				all, report := results(t, intra.Spec{Ranks: 2, Replicas: 2}, set,
					intratest.Sched("static"), intratest.Kills(kill), intratest.Capacity(256))
				require.Len(t, report.Deaths, 1)
				require.Len(t, all, 1+rank, "replicas of rank 0 left")
				for _, r := range all {
					require.Equal(t, want, r.StateSHA256)
				}
			})
		}
	}
}

func TestSeveralKills(t *testing.T) {
	set := small(2)
	want := state(t, set)
	for _, kills := range [][]string{
		{"0.1@update:9", "1.0@update:21"},
		{"0.0@task:12", "0.2@update:14"},
		{"0.0@update:20", "0.1@update:21", "1.2@message:12"},
	} {
		all, report := results(t, intra.Spec{Ranks: 2, Replicas: 3}, set,
			intratest.Sched("static"), intratest.Kills(kills...), intratest.Capacity(256))
		require.Len(t, report.Deaths, len(kills))
		require.NotEmpty(t, all)
		for _, r := range all {
			require.Equal(t, want, r.StateSHA256)
		}
	}
}

// Each update of a step is torn in turn, and received in each way that the runtime
// supports. If an update of the weights is received in place without a snapshot and breaks
// off, the weights are corrected twice. The digest reveals that, so the tests above would
// reveal it, too.
func TestTornUpdatesNeedSnapshots(t *testing.T) {
	set := small(1)
	want := state(t, set)
	for _, receive := range []job.Receive{job.ReceiveStaged, job.ReceiveInPlace, job.ReceiveTorn} {
		t.Run([]string{"staged", "in place", "without snapshots"}[receive], func(t *testing.T) {
			wrong, torn, kills := 0, int64(0), 30
			if receive == job.ReceiveTorn { // a replica that lags behind receives nothing in place
				kills = 300
			}
			for k := 0; k < kills && (wrong == 0 || k < 30); k++ {
				all, report := results(t, intra.Spec{Ranks: 2, Replicas: 2}, set, intratest.Sched("static"),
					intratest.Kills(fmt.Sprintf("0.1@update:%d", k%30)), intratest.Capacity(256),
					bridge.Receive(int(receive)).(intratest.Option))
				torn += report.Torn
				require.NotEmpty(t, all)
				for _, r := range all {
					if r.StateSHA256 != want {
						wrong++
					}
				}
			}
			require.GreaterOrEqual(t, torn, int64(24))
			if receive == job.ReceiveTorn {
				require.Positive(t, wrong)
			} else {
				require.Zero(t, wrong)
			}
		})
	}
}
