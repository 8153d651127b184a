package intra

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
)

// kind is a kind of section with fixed times.
type kind struct {
	decision
	shared, alone time.Duration
}

// section runs one and returns how.
func (k *kind) section() sched.Policy {
	p := k.policy()
	if p == sched.Replicate {
		k.learn(p, k.alone, k.alone, 16, 16)
	} else {
		k.learn(p, k.shared, k.alone/2, 8, 16)
	}
	return p
}

func (k *kind) count(n int) (shared int) {
	for range n {
		if k.section() == sched.Adaptive {
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
		most          int // sections shared out of 1000
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

// What trials cost stays a small part of the time.
func TestTrialsAreCheap(t *testing.T) {
	for _, shared := range []time.Duration{12, 20, 50, 1000, 100_000} {
		k := kind{shared: shared * time.Millisecond, alone: 10 * time.Millisecond}
		k.count(100)
		const n = 1_000_000
		lost := time.Duration(k.count(n)) * (k.shared - k.alone)
		require.Less(t, lost, n*k.alone/20, "sharing takes %v, alone %v", k.shared, k.alone)
	}
}

// When a link gets faster, sharing is taken up again; one slow section does
// not end it.
func TestDecisionFollowsTheTimes(t *testing.T) {
	k := kind{shared: 20 * time.Millisecond, alone: 10 * time.Millisecond}
	k.count(100)
	require.True(t, k.replicate)
	k.shared = 6 * time.Millisecond
	k.count(2000)
	require.False(t, k.replicate)
	k.shared = 25 * time.Millisecond
	k.section()
	k.shared = 6 * time.Millisecond
	k.section()
	require.False(t, k.replicate)
}
