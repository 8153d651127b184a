package agentlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func name(rank int, incarnation uint32) Name {
	return Name{ID: job.Process{Rank: rank}, Incarnation: incarnation}
}

// A process is started once, even if several heads order it. A process of a later
// incarnation replaces it in the log.
func TestProcessIsStartedOnce(t *testing.T) {
	var h Host[string, int]
	require.Nil(t, h.Latest(job.Process{Rank: 1}))
	require.Nil(t, h.Find(name(1, 1)))
	first := h.Start(name(1, 1), true)
	require.NotNil(t, first)
	require.Equal(t, State{ID: job.Process{Rank: 1}, Incarnation: 1, Voiced: true}, first.State)
	require.Equal(t, name(1, 1), first.Name())
	require.Nil(t, h.Start(name(1, 1), true))
	require.Same(t, first, h.Find(name(1, 1)))

	second := h.Start(name(1, 4), false)
	require.NotNil(t, second)
	require.False(t, second.Voiced)
	require.Nil(t, h.Start(name(1, 1), true), "an order of an early head")
	require.Nil(t, h.Find(name(1, 1)), "the process has ended")
	require.Same(t, second, h.Find(name(1, 4)))
	require.Same(t, second, h.Latest(job.Process{Rank: 1}))

	other := h.Start(name(0, 1), true)
	require.Equal(t, []*process{other, second}, h.All())
}

func TestLinkIsMadeOnce(t *testing.T) {
	var h Host[string, int]
	require.True(t, h.Link(name(0, 1), name(1, 1)))
	require.False(t, h.Link(name(0, 1), name(1, 1)))
	require.True(t, h.Link(name(0, 1), name(1, 2)), "another process has replaced 1")
	require.False(t, h.Link(name(0, 1), name(1, 1)))
	require.False(t, h.Link(name(0, 1), name(1, 2)))
}

// Output is resumed once in each generation. The output of a new process is resumed even in
// the first one.
func TestOutputIsResumedOnce(t *testing.T) {
	var h Host[string, int]
	p := h.Start(name(0, 1), true)
	require.False(t, p.Resume(0), "its output has never stopped")
	require.True(t, p.Resume(1))
	require.False(t, p.Resume(1))
	require.EqualValues(t, 1, p.Generation)
	p = h.Start(name(0, 2), false)
	require.True(t, p.Resume(0))
	require.True(t, p.Voiced)
	require.False(t, p.Resume(0))
}
