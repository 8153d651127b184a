package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuiet(t *testing.T) {
	const step = 25 * time.Millisecond
	// lost returns how long after the last beat the host is lost, when beats
	// came every so often.
	lost := func(every []time.Duration, stall time.Duration) time.Duration {
		var q quiet
		now := time.Unix(0, 0)
		q.look(now, 2*step)
		for _, d := range every {
			for range d / step {
				now = now.Add(step)
				require.False(t, q.look(now, 2*step))
			}
			q.beat()
		}
		began := now
		now = now.Add(stall)
		for !q.look(now, 2*step) {
			now = now.Add(step)
		}
		return now.Sub(began)
	}
	regular := make([]time.Duration, 50)
	for i := range regular {
		regular[i] = beatEvery
	}
	d := lost(regular, 0)
	require.Greater(t, d, leaseTime+marginTime-time.Millisecond, "never before the lease and the margin are over")
	require.Less(t, d, time.Second)

	late := append([]time.Duration{500 * time.Millisecond}, regular...)
	require.Greater(t, lost(late, 0), time.Second, "it has been late before")
	require.Less(t, lost(late, 0), 2*time.Second+2*step)
	require.Less(t, lost(append(late, append(regular, append(regular, regular...)...)...), 0), time.Second, "which is forgotten")
	require.Less(t, lost([]time.Duration{3 * time.Second / 4, 3 * time.Second / 4}, 0), maxSilence)

	require.Greater(t, lost(regular, time.Minute), time.Minute+silenceTime-3*step, "a stall of the observer says nothing")
}
