package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Who gets the core back late sleeps for a number of waits, which grows as long as
// that goes on, and shrinks with waits in which it does not.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var long bool
		away := 0
		turns := turns{crowded: true, away: func() {
			away++
			if long {
				time.Sleep(longTurn)
			}
		}}
		wait := func(polls int) (looks bool) {
			turn, spin := turns.begin(spinTime)
			for idle := range polls {
				if !turn.give(idle + 1) {
					return false
				}
			}
			turn.end()
			return spin == turnTime
		}
		require.True(t, wait(freePolls))
		require.Zero(t, away, "what comes at once needs no turn")
		require.True(t, wait(freePolls+3))
		require.Equal(t, 3, away)

		long = true
		for pause := firstPause; pause <= maxPause; pause *= 2 {
			away = 0
			require.False(t, wait(freePolls+3))
			require.Equal(t, 1, away)
			for range pause {
				require.False(t, wait(100), "this wait sleeps early")
			}
			require.Equal(t, 1, away)
		}
		require.False(t, wait(freePolls+1))
		require.EqualValues(t, maxPause, turns.pause.Load())

		long = false
		for range maxPause {
			require.False(t, wait(100))
		}
		for range 9 { // maxPause is 2 to the power of 8
			require.True(t, wait(100))
		}
		long = true
		require.False(t, wait(100))
		require.EqualValues(t, firstPause, turns.pause.Load())
	})
}

// With a core for each process nobody gives it away.
func TestTurnsOfNobody(t *testing.T) {
	var turns turns
	turn, spin := turns.begin(spinTime)
	require.Equal(t, spinTime, spin)
	require.True(t, turn.give(1000))
	turn.end()
}
