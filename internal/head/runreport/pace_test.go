package runreport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The remaining time follows from the most recent steps, without the steps before a death. A
// step that takes longer than these counts as soon as it ends.
func TestPace(t *testing.T) {
	const tick = 250 * time.Millisecond
	var p Pace
	at, now := time.Duration(0), Progress{Total: 1000}
	pass := func(d time.Duration, perStep time.Duration) {
		for end := at + d; at < end; at += tick {
			if at%perStep == 0 && at > 0 {
				now.Done++
				now.Sections += 20
			}
			now.Points = now.Done
			p.Add(&Status{Elapsed: at.Seconds(), Progress: now})
		}
	}
	pass(40*time.Second, time.Second)
	o := p.Outlook()
	require.EqualValues(t, 39, o.Done)
	require.InDelta(t, 1000-39, o.Left, 1)
	require.InDelta(t, 1, o.Points, 0.25)
	require.InDelta(t, 20, o.Sections, 5)
	pass(2*time.Minute, 2*time.Second) // a replica has died, and steps take twice as long
	o = p.Outlook()
	require.EqualValues(t, 99, o.Done)
	require.InDelta(t, 2*(1000-99), o.Left, 10)

	left := o.Left
	pass(time.Second, time.Hour) // a step is under way
	require.Less(t, p.Outlook().Left, left)
	pass(10*time.Second, time.Hour) // the step takes longer than expected
	require.InDelta(t, 2*(1000-100), p.Outlook().Left, 10)
	require.Less(t, p.Outlook().Sections, 2.0)

	now.Total, now.Done = 10, 0 // another part of the program
	pass(tick, time.Hour)
	require.Zero(t, p.Outlook().Left)
	pass(100*time.Second, 20*time.Second)
	require.InDelta(t, 20*float64(10-now.Done), p.Outlook().Left, 40)
	now.Done = 1 // the rank rolls back
	pass(tick, time.Hour)
	require.Zero(t, p.Outlook().Left)
}

func TestLine(t *testing.T) {
	for want, s := range map[string]Status{
		"1m23s  43/150 (28 %)  3m30s left  7/8 processes  2 lost  sharing saves 38 % of the time": {Elapsed: 83.456, Alive: 7, Degrees: []int{4, 4}, Deaths: 2, Saved: 0.384, Outlook: Outlook{Done: 43, Total: 150, Left: 210.4}},
		"1.2s  3.2 safe points/s  481 sections/s  2/2 processes  sharing costs 2 % of the time":   {Elapsed: 1.234, Alive: 2, Degrees: []int{2}, Saved: -0.02, Progress: Progress{Points: 3}, Outlook: Outlook{Points: 3.21, Sections: 480.7}},
		"0.0s  0 sections/s  2/2 processes": {Alive: 2, Degrees: []int{2}},
		"0.0s  12 steps  2/2 processes":     {Alive: 2, Degrees: []int{2}, Outlook: Outlook{Done: 12}},
	} {
		require.Equal(t, want, s.Line())
	}
}
