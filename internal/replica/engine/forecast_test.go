package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/replica/direct"
)

// The choice among not sharing, sending and storing follows the measured times, for each
// combination of possible ways.
func TestChoiceByMeasuredTimes(t *testing.T) {
	const ms = time.Millisecond
	for _, sent := range []time.Duration{5, 12, 30} {
		for _, stored := range []time.Duration{3, 8, 14, 40} {
			for can, c := range map[string]candidates{
				"replicate only": {}, "send": {send: true}, "store": {store: true}, "both": {send: true, store: true},
			} {
				want, least := direct.Replicate, time.Duration(10)
				if c.send && sent < least {
					want, least = direct.Send, sent
				}
				if c.store && stored < least {
					want = direct.Store
				}
				k := ways{alone: 10 * ms, sent: sent * ms, stored: stored * ms, most: c}
				k.count(200)
				count := k.count(5000)
				require.Greater(t, count[want], 4000, "%s: sent %d ms, stored %d ms: %v", can, sent, stored, count)
				if !c.send {
					require.Zero(t, count[direct.Send])
				}
				if !c.store {
					require.Zero(t, count[direct.Store])
				}
			}
		}
	}
}

// The cost of sharing one kind of section predicts that of another kind with updates of
// the same size. If sharing the other kind cannot pay, it is not tried.
func TestForecast(t *testing.T) {
	const ms, size = time.Millisecond, 64 << 20
	known := newDecisions()
	// section runs one section whose updates cost 20 ms in addition to the bodies.
	section := func(d *decision, alone time.Duration, bytes int) direct.Way {
		c := candidates{send: true, bytes: bytes}
		c.costs.send = known.costs.send.of(bytes)
		w := afterOne(d, d.propose(c), alone)
		e := execution{way: w, bytes: bytes, took: alone/2 + 20*ms, spent: alone / 2, ran: 8, tasks: 16, workers: 1, met: true}
		if w == direct.Replicate {
			e.took, e.spent, e.ran, e.met = alone, alone, 16, false
		}
		d.learn(e, &known)
		return w
	}
	count := func(alone time.Duration, bytes int) (shared int, d decision) {
		for range 100 {
			if section(&d, alone, bytes) == direct.Send {
				shared++
			}
		}
		return shared, d
	}
	shared, pays := count(60*ms, size)
	require.Equal(t, 100-foresight, shared, "tried once the time of the bodies is known")
	require.Equal(t, "share", pays.word())
	shared, hopeless := count(10*ms, size)
	require.Zero(t, shared, "by the cost of the other kind")
	require.Equal(t, "replicate", hopeless.word())
	shared, _ = count(60*ms, size+1)
	require.Equal(t, 100-foresight, shared, "known to pay once the time of the bodies is known")
	shared, _ = count(10*ms, size/4)
	require.Positive(t, shared, "smaller updates may cost less")
	shared, _ = count(10*ms, 8*size)
	require.Zero(t, shared, "much larger ones cost too much in any case")
}

// Sharing costs some microseconds, whatever the size of the updates. A kind of section that
// is too short for that is shared only until the time of its bodies is known, or in one
// trial. A longer section is shared.
func TestForecastOfShortSections(t *testing.T) {
	const us = time.Microsecond
	known := newDecisions()
	count := func(alone time.Duration) (shared int, d decision) {
		for range 60 {
			c := candidates{send: true, bytes: 128}
			c.costs.send = known.costs.send.of(c.bytes)
			w := d.propose(c)
			e := execution{way: w, bytes: c.bytes, took: alone/2 + alone/16 + 10*us, spent: alone / 2, ran: 8, tasks: 16, workers: 1, met: true}
			if w == direct.Replicate {
				e.took, e.spent, e.ran, e.met = alone, alone, 16, false
			} else {
				shared++
			}
			d.learn(e, &known)
		}
		return shared, d
	}
	shared, short := count(4 * us)
	require.Equal(t, foresight, shared, "too short on any machine")
	require.Equal(t, "replicate", short.word())
	shared, _ = count(12 * us)
	require.Equal(t, warmUp+many, shared, "in one trial")
	shared, _ = count(14 * us)
	require.Equal(t, foresight, shared, "by the cost of the other kind")
	shared, long := count(60 * us)
	require.Equal(t, 60, shared)
	require.Equal(t, "share", long.word())
}

// Results are not sent for a comparison if that is expected to take longer than storing
// them has taken.
func TestForecastBesideStores(t *testing.T) {
	const us = time.Microsecond
	k := ways{alone: 300 * us, sent: 450 * us, stored: 160 * us, most: candidates{send: true, store: true, bytes: 512 << 10}}
	count := k.count(2000)
	require.Zero(t, count[direct.Send])
	require.Equal(t, 2000, count[direct.Store])
	k = ways{alone: 300 * us, sent: 160 * us, stored: 240 * us, most: candidates{send: true, store: true, bytes: 1 << 10}}
	require.Greater(t, k.count(2000)[direct.Send], 1900, "small updates may be faster to send")
}

// A trial may begin because touching memory for the first time looked like computation. It
// ends when the usual time of the bodies is known, even if a section of the trial has
// touched memory, too.
func TestForecastDuringTrial(t *testing.T) {
	const ms, size = time.Millisecond, 32 << 20
	known := newDecisions()
	for range 3 {
		known.costs.send.add(size, 4*ms) // the cost of another kind of section
	}
	var d decision
	shared := 0
	for i := range 60 {
		alone, beside := 3*ms, 5*ms
		if i < 2 || i == 3 {
			alone = 100 * ms
		}
		c := candidates{send: true, bytes: size}
		c.costs.send = known.costs.send.of(size)
		w := afterOne(&d, d.propose(c), alone)
		e := execution{way: w, bytes: size, took: alone/2 + beside, spent: alone / 2, ran: 8, tasks: 16, workers: 1, met: true}
		if w == direct.Replicate {
			e.took, e.spent, e.ran, e.met = alone, alone, 16, false
		} else {
			shared++
		}
		d.learn(e, &known)
	}
	require.Equal(t, "replicate", d.word())
	require.LessOrEqual(t, shared, 3)
}

// An update whose time on the link is unknown is not sent to measure it, if even the
// fastest link could not send it while the bodies run.
func TestForecastWithoutBandwidth(t *testing.T) {
	var b bandwidth
	require.Equal(t, 100*time.Millisecond, b.atBest(1e9))
	d := decision{}
	way := d.propose(candidates{send: true, transfer: b.atBest(1e9)})
	require.Equal(t, direct.Replicate, afterOne(&d, way, 300*time.Millisecond))
	require.Equal(t, direct.Send, afterOne(&d, way, 500*time.Millisecond))
}
