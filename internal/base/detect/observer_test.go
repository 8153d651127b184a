package detect

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// walk advances an observer from one time to another in steps. If contact is set, a round
// trip to host 1 ends at each step.
func walk(o *Observer, from, to, step time.Duration, contact bool) time.Duration {
	for now := from; now <= to; now += step {
		if contact {
			o.Contact(1, now)
		}
		o.Wake(now)
	}
	return to
}

func sighting(t *testing.T, o *Observer, now time.Duration) Sighting {
	s, ok := o.Sighting(1, now)
	require.True(t, ok)
	return s
}

func TestSilence(t *testing.T) {
	o := NewObserver(DefaultConfig, 0)
	_, ok := o.Sighting(1, 0)
	require.False(t, ok, "no host is watched yet")
	o.Watch(1, 0)
	now := walk(o, 0, 10*time.Second, 50*ms, true)
	require.Zero(t, sighting(t, o, now).Level())
	now = walk(o, now, now+600*ms, 50*ms, false)
	require.False(t, sighting(t, o, now).Suspect())
	now = walk(o, now, now+50*ms, 50*ms, false)
	s := sighting(t, o, now)
	require.True(t, s.Suspect())
	require.Equal(t, Sighting{Host: 1, Age: 650 * ms, Silence: 650 * ms, Limit: 650 * ms}, s)
	o.Contact(1, now)
	require.False(t, sighting(t, o, now).Suspect(), "a suspicion is no verdict")
	o.Forget(1)
	_, ok = o.Sighting(1, now)
	require.False(t, ok)
}

// TestOwnLateness requires that time in which the observer was not running does not count
// against the host, in one long sleep or in many short ones.
func TestOwnLateness(t *testing.T) {
	o := NewObserver(DefaultConfig, 0)
	o.Watch(1, 0)
	now := walk(o, 0, time.Second, 50*ms, true)
	now += 20 * time.Second
	o.Wake(now)
	s := sighting(t, o, now)
	require.False(t, s.Suspect())
	require.Equal(t, 20*time.Second, s.Age)
	require.Equal(t, 150*ms, s.Silence)
	require.Equal(t, 20*time.Second-150*ms, o.Late())

	o = NewObserver(DefaultConfig, 0)
	o.Watch(1, 0)
	now = walk(o, 0, 1600*ms, 400*ms, false) // the observer runs, but each time late
	require.False(t, sighting(t, o, now).Suspect())
	now = walk(o, now, now+2*time.Second, 400*ms, false)
	require.True(t, sighting(t, o, now).Suspect(), "it is slower, but still detects")
}

// TestAdapts requires that a host that has answered after a long silence gets a higher
// limit, until that silence fades. The limit has a ceiling.
func TestAdapts(t *testing.T) {
	o := NewObserver(DefaultConfig, 0)
	o.Watch(1, 0)
	now := walk(o, 0, 3*time.Second, 50*ms, false) // the host has not started yet
	now = walk(o, now, now+time.Second, 50*ms, true)
	require.Equal(t, DefaultConfig.Floor, sighting(t, o, now).Limit)
	now = walk(o, now, now+550*ms, 50*ms, false)
	now = walk(o, now+50*ms, now+51*ms, 50*ms, true)
	require.InDelta(t, 1500, sighting(t, o, now).Limit.Milliseconds(), 10)
	now = walk(o, now, now+2*time.Minute, 50*ms, true)
	require.InDelta(t, 750, sighting(t, o, now).Limit.Milliseconds(), 10)
	now = walk(o, now, now+2*time.Minute, 50*ms, true)
	require.Equal(t, DefaultConfig.Floor, sighting(t, o, now).Limit)
	now = walk(o, now, now+4*time.Second, 50*ms, false)
	now = walk(o, now, now+ms, 50*ms, true)
	require.Equal(t, DefaultConfig.Ceiling, sighting(t, o, now).Limit)
}

func TestJudge(t *testing.T) {
	lost := func(o ID) Testimony {
		return Testimony{o, Sighting{Host: 4, Age: 800*ms + time.Duration(o)*ms, Silence: 800 * ms, Limit: 650 * ms}}
	}
	contact := Testimony{3, Sighting{Host: 4, Age: 10 * ms, Silence: 10 * ms, Limit: 650 * ms}}
	for _, c := range []struct {
		name    string
		own     Testimony
		others  []Testimony
		missing int
		want    bool
	}{
		{"all agree", lost(1), []Testimony{lost(2), lost(3)}, 0, true},
		{"no other observer", lost(1), nil, 0, true},
		{"one observer has contact", lost(1), []Testimony{lost(2), contact}, 0, false},
		{"only the judge has contact", contact, []Testimony{lost(1), lost(2)}, 0, false},
		{"one observer has not reported", lost(1), []Testimony{lost(2)}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := Judge(c.own, c.others, c.missing)
			require.Equal(t, c.want, got)
		})
	}
}

func ExampleEvidence() {
	own := Testimony{1, Sighting{Host: 4, Age: 740 * ms, Silence: 740 * ms, Limit: 650 * ms}}
	other := Testimony{3, Sighting{Host: 4, Age: 710 * ms, Silence: 705 * ms, Limit: 650 * ms}}
	evidence, lost := Judge(own, []Testimony{other}, 0)
	fmt.Println(lost)
	fmt.Println(evidence)
	// Output:
	// true
	// last heard 710ms ago by 3 (1: 740ms silent, limit 650ms; 3: 710ms silent, limit 650ms)
}
