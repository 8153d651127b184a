package timeline

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Times of hosts whose clocks differ by hours are put on one axis. The error is at most
// the time that a message takes, and no message goes back in time.
func TestAlign(t *testing.T) {
	const least = 50_000 // nanoseconds that a message takes
	rng := rand.New(rand.NewPCG(1, 2))
	offset := map[string]int64{"head": 0, "a": 3600e9, "b": -7200e9, "c": 5e6, "silent": 1e12}
	hosts := []string{"a", "b", "c"} // process i runs on hosts[i]
	arrow, at := newArrows(), int64(1e9)
	for n := range uint64(1000) {
		from := rng.IntN(3)
		to := (from + 1 + rng.IntN(2)) % 3
		if from+to == 2 { // a and c have no passages between them
			from, to = 1, from
		}
		took := least + int64(rng.IntN(1_000_000))
		at += 10_000
		sent := Event{Kind: Message, At: at - offset[hosts[from]], Number: n}
		got := Event{Kind: Match, At: at + took - offset[hosts[to]], Number: n}
		arrow.add(int32(from), int32(to), hosts[from], &sent)
		arrow.add(int32(to), int32(from), hosts[to], &got)
	}
	received := map[string]int64{}
	for host, o := range offset { // a block takes a while to arrive
		received[host] = o + 2*least
	}
	received["head"] = 10
	got := align("head", received, arrow.fastest())
	require.Len(t, got, len(offset))
	require.Zero(t, got["head"])
	for _, host := range append(hosts, "silent") {
		require.InDelta(t, offset[host], got[host], 3*least, host)
	}
	for p, ends := range arrow.end {
		require.Less(t, arrow.begin[p][0].at+got[hosts[p.from]], ends[0].at+got[hosts[p.to]])
	}
}

// After a rollback two messages may have the same identity. A passage with only one of its
// ends has no arrow.
func TestArrowsOfOneName(t *testing.T) {
	a := newArrows()
	sent := func(at int64) { a.add(0, 1, "x", &Event{Kind: Message, At: at, Number: 3}) }
	got := func(at int64) { a.add(1, 0, "x", &Event{Kind: Match, At: at, Number: 3}) }
	sent(10) // lost
	sent(50)
	got(60)
	sent(100)
	got(130)
	a.add(1, 0, "x", &Event{Kind: Match, At: 5, Number: 4}) // its beginning was dropped
	a.add(0, 1, "x", &Event{Kind: Sent, At: 55, Number: 3}) // an update
	a.join(map[string]int64{})
	p := passage{kind: Message, from: 0, to: 1, number: 3}
	require.Zero(t, a.of(p, true, 10))
	require.Positive(t, a.of(p, true, 50))
	require.Equal(t, a.of(p, true, 50), a.of(p, false, 60))
	require.Equal(t, a.of(p, true, 100), a.of(p, false, 130))
	require.NotEqual(t, a.of(p, true, 50), a.of(p, true, 100))
	p.number = 4
	require.Zero(t, a.of(p, false, 5))
	require.Empty(t, a.fastest(), "which belongs to which is not known")
}
