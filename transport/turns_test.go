package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// After a wait that gets its core back late, a number of waits sleep without taking turns.
// The number grows with every such wait and shrinks with every wait that gets its core back in
// time.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var long bool
		away := 0
		turns := turns{crowded: true, long: longTurn, away: func() {
			away++
			if long {
				time.Sleep(longTurn)
			}
		}}
		wait := func(polls int) (looks bool) {
			turn, spin := turns.begin(spinTime, false)
			for idle := range polls {
				if !turn.give(idle + 1) {
					return false
				}
			}
			turn.end()
			return spin == turnTime
		}
		require.True(t, wait(freePolls))
		require.Zero(t, away, "a condition that holds at once needs no turn")
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

// The more processes share a core, the longer is a turn in which each of them may work for a short
// time without making the turn a long one.
func TestLongTurns(t *testing.T) {
	for _, tt := range []struct {
		processes, cores int
		crowded          bool
		long             time.Duration
	}{
		{1, 1, false, longTurn}, {2, 2, false, longTurn}, {64, 128, false, longTurn},
		{3, 2, true, longTurn}, {4, 2, true, longTurn}, {5, 2, true, 3 * workTime}, {8, 2, true, 4 * workTime}, {256, 2, true, longest},
	} {
		turns := newTurns(tt.processes, tt.cores, nil)
		require.Equal(t, tt.crowded, turns.crowded, "%v", tt)
		require.Equal(t, tt.long, turns.long, "%v", tt)
	}
}

// A process that takes turns on crowded cores calls balance from time to time, in any kind
// of wait.
func TestTurnsBalance(t *testing.T) {
	for crowded, want := range map[bool]int{true: 3, false: 0} {
		balanced := 0
		turns := turns{crowded: crowded, long: longTurn, away: func() {}, balance: func() { balanced++ }}
		for taken := 0; taken < 3*balanceEvery; {
			turn, _ := turns.begin(spinTime, true)
			turn.stay()
			for idle := range freePolls + 5 {
				require.True(t, turn.give(idle+1))
			}
			taken += 5
			turn.end()
		}
		require.Equal(t, want, balanced, "crowded: %v", crowded)
	}
}

// With a core for each process, a waiter yields only after the first polling time and only
// if it may stay. After a long turn the next waits do not yield.
func TestTurnsWithCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back time.Duration // time until the core is available again
		away := 0
		turns := turns{long: longTurn, away: func() { away++; time.Sleep(back) }}

		turn, spin := turns.begin(spinTime, false)
		require.Equal(t, spinTime, spin)
		require.Zero(t, turn.stay())
		turn, spin = turns.begin(spinTime, true)
		require.Equal(t, spinTime, spin)
		require.True(t, turn.give(1000))
		require.Zero(t, away, "no turns before stay")
		require.Equal(t, stayTime, turn.stay())
		require.True(t, turn.give(1000))
		require.Equal(t, 1, away)
		require.Zero(t, turn.stay(), "a wait stays only once")

		back = longTurn
		require.False(t, turn.give(1000))
		for range otherPause {
			turn, spin = turns.begin(spinTime, true)
			require.Equal(t, spinTime, spin)
			require.Zero(t, turn.stay(), "no turns after a long turn")
		}
		turn, _ = turns.begin(spinTime, true)
		require.Equal(t, stayTime, turn.stay())
	})
}
