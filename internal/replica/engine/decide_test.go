package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/update"
)

// kind is a kind of section with fixed times.
type kind struct {
	decision
	known         decisions // costs known in this job
	shared, alone time.Duration
	transfer      time.Duration // transfer time known in advance
}

// section executes one section, and returns the way in which it was shared.
func (k *kind) section() direct.Way {
	w := k.propose(candidates{send: true, transfer: k.transfer})
	w = afterOne(&k.decision, w, k.alone)
	e := execution{way: w, took: k.shared, spent: k.alone / 2, ran: 8, tasks: 16, workers: 1, met: true}
	if w == direct.Replicate {
		e.took, e.spent, e.ran, e.met = k.alone, k.alone, 16, false
	}
	k.learn(e, &k.known)
	return w
}

// afterOne returns the way of a section after the first of its 16 tasks.
func afterOne(d *decision, w direct.Way, alone time.Duration) direct.Way {
	if d.tries && !d.goesOn(alone/16, 1, 16, 1) {
		return direct.Replicate
	}
	return w
}

// Sections with different tasks or update sizes are of different kinds.
func TestKindsOfSections(t *testing.T) {
	kernel, other := &Kernel{Name: "a"}, &Kernel{Name: "b"}
	of := func(k *Kernel, bytes ...int) *Section {
		s := &Section{}
		for _, b := range bytes {
			s.Tasks = append(s.Tasks, Task{Kernel: k, Regions: []update.Region{update.Slice(update.Out, "w", make([]byte, b))}})
		}
		return s
	}
	known := newDecisions()
	first, bytes := known.about(of(kernel, 100, 200))
	require.Equal(t, 300, bytes)
	same, _ := known.about(of(kernel, 250, 260))
	require.Same(t, first, same)
	for name, s := range map[string]*Section{
		"kernel": of(other, 100, 200), "tasks": of(kernel, 300), "bytes": of(kernel, 300, 300),
	} {
		d, _ := known.about(s)
		require.NotSame(t, first, d, name)
	}
}

func (k *kind) count(n int) (shared int) {
	for range n {
		if k.section() == direct.Send {
			shared++
		}
	}
	return shared
}

func TestDecision(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name          string
		shared, alone time.Duration
		word          string
		most          int // the most sections shared out of 1000
		least         int
	}{
		{"pays", 6 * ms, 10 * ms, "share", 1000, 1000},
		{"about the same: stay", 10 * ms, 10 * ms, "share", 1000, 1000},
		{"does not pay", 15 * ms, 10 * ms, "replicate", 60, 10},
		{"hopeless", 900 * ms, 10 * ms, "replicate", 3, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := kind{shared: tt.shared, alone: tt.alone}
			shared := k.count(1000)
			require.Equal(t, tt.word, k.word())
			require.LessOrEqual(t, shared, tt.most)
			require.GreaterOrEqual(t, shared, tt.least)
		})
	}
}

// TestDecisionSettles bounds the number of sections until the decision.
func TestDecisionSettles(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		shared, transfer time.Duration
		shares           bool
		least, most      uint64
	}{
		"pays":                             {shared: 6 * ms, shares: true},
		"bodies have to be measured first": {shared: 6 * ms, transfer: 5 * ms, shares: true, least: foresight, most: 10},
		"hopeless":                         {shared: 900 * ms, least: 1, most: 10},
		"longer than the bodies are":       {shared: 30 * ms, transfer: 20 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			k := kind{shared: tt.shared, alone: 10 * ms, transfer: tt.transfer}
			var after uint64
			for range 1000 { // including trials
				after = k.settled(k.section())
			}
			require.Equal(t, tt.shares, k.shares)
			require.GreaterOrEqual(t, after, tt.least)
			require.LessOrEqual(t, after, tt.most)
		})
	}
}

// Updates of a few bytes cannot make a section slow, so the machine must be the cause.
func TestDecisionIsNotMadeByASlowMoment(t *testing.T) {
	const ms = time.Millisecond
	for transfer, want := range map[time.Duration]string{0: "share", 4 * ms: "replicate"} {
		k := kind{shared: 5 * ms, alone: 10 * ms, transfer: transfer}
		k.count(warmUp)
		k.shared = 40 * ms
		k.count(1)
		require.Equal(t, want, k.word())
	}
}

// The cost of trials is a small part of the time.
func TestTrialsAreCheap(t *testing.T) {
	for _, shared := range []time.Duration{12, 20, 50, 1000, 100_000} {
		k := kind{shared: shared * time.Millisecond, alone: 10 * time.Millisecond}
		k.count(100)
		const n = 1_000_000
		lost := time.Duration(k.count(n)) * (k.shared - k.alone)
		require.Less(t, lost, n*k.alone/20, "sharing takes %v, alone %v", k.shared, k.alone)
	}
}

// When a link gets faster, sharing begins again. A single slow section does not end it.
func TestDecisionFollowsTheTimes(t *testing.T) {
	k := kind{shared: 20 * time.Millisecond, alone: 10 * time.Millisecond}
	k.count(100)
	require.True(t, k.sending.rejected)
	k.shared = 6 * time.Millisecond
	k.count(2000)
	require.False(t, k.sending.rejected)
	k.shared = 25 * time.Millisecond
	k.section()
	k.shared = 6 * time.Millisecond
	k.section()
	require.False(t, k.sending.rejected)
}

// Updates that take as long as the computation are useless. This is known before any is
// sent, or after the first section has measured the link.
func TestDecisionBeforeLoss(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name                     string
		transfer, shared, alone  time.Duration
		word                     string
		sharedOf1000, atLeastOf1 int
	}{
		{"forbidding", 16 * ms, 20 * ms, 5 * ms, "replicate", 0, 0},
		{"slow", 4 * ms, 6 * ms, 3 * ms, "replicate", 60, 1}, // the time of the computation is unknown at first
		{"long, but overlapped", 16 * ms, 18 * ms, 30 * ms, "share", 998, 998},
		{"negligible", ms / 100, ms / 2, ms, "share", 1000, 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := kind{shared: tt.shared, alone: tt.alone, transfer: tt.transfer}
			first := k.count(20)
			require.LessOrEqual(t, first, max(1, tt.sharedOf1000))
			shared := first + k.count(980)
			require.Equal(t, tt.word, k.word())
			require.LessOrEqual(t, shared, tt.sharedOf1000)
			require.GreaterOrEqual(t, shared, tt.atLeastOf1)
		})
	}
}

// The first sections of a kind are slow because they touch their memory for the first
// time. Updates over a slow link then seem to pay, but only briefly.
func TestDecisionAfterSlowBeginning(t *testing.T) {
	const ms = time.Millisecond
	k := kind{shared: 20 * ms, alone: 40 * ms, transfer: 16 * ms}
	k.count(foresight)
	k.alone = 2 * ms
	require.LessOrEqual(t, k.count(1000), 1)
	require.Equal(t, "replicate", k.word())
}

// One section suffices if it takes much longer than its updates and touching its memory
// can explain.
func TestDecisionAfterOneSection(t *testing.T) {
	const ms = time.Millisecond
	for alone, want := range map[time.Duration]direct.Way{170 * ms: direct.Send, 90 * ms: direct.Send, 70 * ms: direct.Replicate, 30 * ms: direct.Replicate} {
		var d decision
		c := candidates{send: true, bytes: 26 << 20, transfer: 10 * ms}
		w := afterOne(&d, d.propose(c), alone)
		require.Equal(t, want, w, "its first task shows the same: %v", alone)
		d.learn(execution{way: direct.Replicate, bytes: c.bytes, took: alone, spent: alone, ran: 16, tasks: 16, workers: 1}, new(decisions))
		require.Equal(t, want, d.propose(c), "%v", alone)
	}
}

// Large updates explain that sharing took long, even if the link is not known to be slow.
func TestDecisionAboutLargeUpdates(t *testing.T) {
	const ms = time.Millisecond
	k := ways{alone: 20 * ms, sent: 26 * ms, most: candidates{send: true, bytes: 8 << 20}}
	require.Equal(t, warmUp+3, k.count(30)[direct.Send])
	require.Equal(t, "replicate", k.word())
}

// Large updates that were sent also slow down the next sections. So sharing has to gain
// more than it seems to. Stores have no such effect.
func TestDecisionCountsLaterCosts(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name         string
		sent, stored time.Duration
		most         candidates
		want         direct.Way
	}{
		{"sent, about the same", 48 * ms, 0, candidates{send: true, bytes: 16 << 20}, direct.Replicate},
		{"sent, pays", 40 * ms, 0, candidates{send: true, bytes: 16 << 20}, direct.Send},
		{"small, about the same", 48 * ms, 0, candidates{send: true, bytes: 1 << 20}, direct.Send},
		{"stored, about the same", 0, 48 * ms, candidates{store: true, bytes: 16 << 20}, direct.Store},
	} {
		k := ways{alone: 50 * ms, sent: tt.sent, stored: tt.stored, most: tt.most}
		k.count(20)
		require.Greater(t, k.count(1000)[tt.want], 950, tt.name)
	}
}

func TestBandwidth(t *testing.T) {
	const ms = time.Millisecond
	var b bandwidth
	require.Zero(t, b.time(1<<20))
	b.sent(100, 0, 50*ms) // too short to measure
	require.Zero(t, b.time(1<<20))
	// The updates are queued at once and handed over one after the other, at 1 MB/ms.
	for i := range 10 {
		b.sent(1e6, 50*ms, time.Duration(51+i)*ms)
	}
	require.Equal(t, 3*ms, b.time(3e6))
	// Then the link becomes slower by half.
	for i := range 100 {
		b.sent(1e6, 100*ms, time.Duration(102+2*i)*ms)
	}
	require.InDelta(t, float64(2*ms), float64(b.time(1e6)), float64(ms)/100)
	// A peer that does not read makes updates slow, although the link is not.
	b.sent(1e6, 1000*ms, 1001*ms)
	for i := range 10 {
		b.sent(1e6, 2000*ms, time.Duration(2100+100*i)*ms)
	}
	require.Equal(t, ms, b.atBest(1e6))
	require.Greater(t, b.time(1e6), 50*ms)

	b = bandwidth{}
	b.limit(0.5e9)
	require.Equal(t, 2*ms, b.time(1e6))
	require.Equal(t, 2*ms, b.atBest(1e6))
	b.sent(1e6, 0, ms/10) // the burst of the token bucket
	require.Equal(t, 2*ms, b.time(1e6))
	require.Equal(t, 2*ms, b.atBest(1e6))
}

// The time that a replica would take alone is counted in rounds of all its workers.
func TestDecisionWithWorkers(t *testing.T) {
	const ms = time.Millisecond
	for workers, want := range map[int]time.Duration{1: 16 * ms, 2: 8 * ms, 3: 6 * ms, 4: 4 * ms, 16: ms, 20: ms} {
		var d decision
		d.learn(execution{way: direct.Replicate, took: 100 * ms, spent: 8 * ms, ran: 8, tasks: 16, workers: workers}, new(decisions))
		require.Equal(t, want, d.alone.median(samples), "%d workers", workers)
	}
}

// While a replica is far ahead of its peers or far behind, the times of its sections prove
// little about sharing. Ahead, it runs every task, and sends results to peers that do not
// use them. Behind, every result has arrived before it begins the section. Neither replica
// may reject sharing that pays as soon as both are in the section. But it rejects a way
// that even then takes much longer than the bodies.
func TestDecisionWithoutPeers(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name     string
		e        execution
		transfer time.Duration
		word     string
	}{
		{"ahead, with small updates", execution{took: 15 * ms, spent: 10 * ms, ran: 16}, 0, "share"},
		{"ahead, with large ones that pay", execution{took: 14 * ms, spent: 10 * ms, ran: 16}, 2 * ms, "share"},
		{"ahead, with larger ones", execution{took: 30 * ms, spent: 10 * ms, ran: 16}, 8 * ms, "replicate"},
		{"beside one that replicates", execution{took: 14 * ms, spent: 10 * ms, ran: 16, met: true}, 2 * ms, "replicate"},
		{"behind", execution{took: ms / 10}, 2 * ms, "share"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := kind{shared: 6 * ms, alone: 10 * ms, transfer: tt.transfer}
			k.count(warmUp + 1)
			for range 100 {
				e := tt.e
				e.way, e.tasks, e.workers = k.propose(candidates{send: true, transfer: tt.transfer}), 16, 1
				if e.way == direct.Replicate {
					e.took, e.spent, e.ran = 10*ms, 10*ms, 16
				}
				k.learn(e, &k.known)
			}
			require.Equal(t, tt.word, k.word())
		})
	}
}

// On a machine with other load some sections are slow. They do not end sharing that pays.
func TestDecisionOnABusyMachine(t *testing.T) {
	const ms = time.Millisecond
	for _, transfer := range []time.Duration{0, 4 * ms} {
		k := kind{shared: 5 * ms, alone: 10 * ms, transfer: transfer}
		k.count(warmUp + samples)
		for range 20 {
			k.shared = 5 * ms
			k.count(8)
			k.shared = 12 * ms
			k.count(7)
		}
		require.Equal(t, "share", k.word(), "updates take %v", transfer)
		k.shared = 12 * ms // all sections are slow
		k.count(1000)
		require.Equal(t, "replicate", k.word(), "updates take %v", transfer)
	}
}

// An interruption takes longer than many short sections. Half of the sections of a window
// may be interrupted, and sharing goes on. A trial of short sections with few bytes is
// completed, whatever its first sections take.
func TestDecisionOnInterruptedShortSections(t *testing.T) {
	const us = time.Microsecond
	k := kind{shared: 8 * us, alone: 11 * us}
	k.count(warmUp)
	for range 100 {
		k.shared = 600 * us
		k.count(7)
		k.shared = 8 * us
		require.Equal(t, 8, k.count(8))
	}
	require.Equal(t, "share", k.word())
	k.shared = 20 * us
	require.Less(t, k.count(1000), 100)
	require.Equal(t, "replicate", k.word())
}

// Of two ways that take about the same time, results of few bytes are sent: replicas that
// send need not meet.
func TestFewBytesAreSent(t *testing.T) {
	known := newDecisions()
	for bytes, want := range map[int]bool{8: true, sendable - 1: true, sendable: false} {
		d, _ := known.about(&Section{Tasks: []Task{{Kernel: new(Kernel), Regions: []update.Region{update.Slice(update.Out, "w", make([]byte, bytes))}}}})
		require.Equal(t, want, d.sends, "%d bytes", bytes)
	}
}

// Every second section of a kind takes four times as long. Each section is compared with its own
// time alone.
func TestDecisionAboutUnequalSections(t *testing.T) {
	k := kind{transfer: time.Millisecond / 2}
	for i := range 1000 {
		k.alone = time.Duration(1+3*(i%2)) * time.Millisecond
		if k.shared = k.alone * 6 / 10; i%3 == 0 {
			k.shared = 0 // all results had arrived before
		}
		require.Equal(t, direct.Send, k.section(), "section %d", i)
	}
}

// ways is a kind of section that can be shared in both ways, with a time for each way.
type ways struct {
	decision
	known               decisions // costs known in this job
	alone, sent, stored time.Duration
	most                candidates
}

func (k *ways) count(n int) (count [direct.Store + 1]int) {
	for range n {
		w := afterOne(&k.decision, k.propose(k.most), k.alone)
		e := execution{way: w, spent: k.alone / 2, ran: 8, tasks: 16, workers: 1, met: true}
		switch w {
		case direct.Replicate:
			e.took, e.spent, e.ran, e.met = k.alone, k.alone, 16, false
		case direct.Send:
			e.took = k.sent
		case direct.Store:
			e.took = k.stored
		}
		k.learn(e, &k.known)
		count[w]++
	}
	return count
}

// The fastest of three ways is chosen: sending, storing, or not sharing. Trials of the other ways
// cost little.
func TestDecisionAmongWays(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		sent, stored time.Duration
		most         candidates
		want         direct.Way
		word         string
	}{
		"stores":                  {8 * ms, 6 * ms, candidates{send: true, store: true}, direct.Store, "share"},
		"sends":                   {6 * ms, 8 * ms, candidates{send: true, store: true}, direct.Send, "share"},
		"much the same: stores":   {6 * ms, 6*ms + ms/10, candidates{send: true, store: true}, direct.Store, "share"},
		"stores do not pay":       {6 * ms, 15 * ms, candidates{send: true, store: true}, direct.Send, "share"},
		"sending does not pay":    {15 * ms, 6 * ms, candidates{send: true, store: true}, direct.Store, "share"},
		"updates take too long":   {30 * ms, 6 * ms, candidates{send: true, store: true, transfer: 25 * ms}, direct.Store, "share"},
		"none pays":               {15 * ms, 13 * ms, candidates{send: true, store: true}, direct.Replicate, "replicate"},
		"asked for":               {5 * ms, 8 * ms, candidates{store: true}, direct.Store, "share"},
		"asked for, does not pay": {5 * ms, 20 * ms, candidates{store: true}, direct.Replicate, "replicate"},
	} {
		t.Run(name, func(t *testing.T) {
			k := ways{alone: 10 * ms, sent: tt.sent, stored: tt.stored, most: tt.most}
			k.count(100)
			count := k.count(10_000)
			require.Greater(t, count[tt.want], 9_000, "%v", count)
			require.Equal(t, tt.word, k.word())
		})
	}
}

// The best way may change.
func TestDecisionAmongWaysFollowsTheTimes(t *testing.T) {
	const ms = time.Millisecond
	k := ways{alone: 10 * ms, sent: 8 * ms, stored: 6 * ms, most: candidates{send: true, store: true}}
	for range 3 {
		k.count(5000)
		require.Greater(t, k.count(1000)[direct.Store], 900)
		k.sent, k.stored = k.stored, k.sent
		k.count(5000)
		require.Greater(t, k.count(1000)[direct.Send], 900)
		k.sent, k.stored = k.stored, k.sent
	}
	k.sent, k.stored = 20*ms, 20*ms
	k.count(1000)
	require.Greater(t, k.count(1000)[direct.Replicate], 900)
}
