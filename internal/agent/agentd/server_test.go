package agentd

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/job"
)

// serverWithout returns a server whose agent has no processes, and the head's end of
// its connection.
func serverWithout(t *testing.T) (*server, *agentwire.Conn) {
	here, there := net.Pipe()
	t.Cleanup(func() { there.Close() })
	s := &server{conn: agentwire.NewConn(here), node: new(node), keeps: true}
	s.local = supervise.New(supervise.Config{Observer: s})
	return s, agentwire.NewConn(there)
}

func incarnation(n uint32) agentwire.Name {
	return agentwire.Name{ID: job.Process{Rank: 1}, Incarnation: n}
}

// A process is started once, even if several heads order it. The next one in its slot
// is another process.
func TestProcessStartsOnce(t *testing.T) {
	s, _ := serverWithout(t)
	require.True(t, s.open(incarnation(1), supervise.First))
	require.False(t, s.open(incarnation(1), supervise.First))
	require.True(t, s.open(incarnation(4), supervise.Joiner))
	require.False(t, s.open(incarnation(1), supervise.First))
	require.False(t, s.process(job.Process{Rank: 1}).Voiced)
}

// A frame for a process that has ended does not reach the next process in its slot. A frame
// for an unknown process does not end the connection.
func TestFramesOfOtherIncarnationsAreDropped(t *testing.T) {
	s, _ := serverWithout(t)
	s.open(incarnation(4), supervise.Joiner)
	m, err := (&job.Message{Kind: job.KindRelease}).Encode()
	require.NoError(t, err)
	for n, freed := range map[uint32]bool{1: false, 5: false} {
		require.NoError(t, s.take(&agentwire.Frame{Kind: agentwire.KindMessage, Of: incarnation(n), Body: m}))
		require.Equal(t, freed, s.process(job.Process{Rank: 1}).Freed)
	}
	require.NoError(t, s.take(&agentwire.Frame{Kind: agentwire.KindMessage, Of: incarnation(4), Body: m}))
	require.True(t, s.process(job.Process{Rank: 1}).Freed)
	require.Error(t, s.take(&agentwire.Frame{Kind: agentwire.KindReady, Of: incarnation(4)}))
}

// The output of a joiner counts from the position that the head names, once in each
// generation. The agent reports that generation to another head.
func TestOutputResumesOncePerGeneration(t *testing.T) {
	s, _ := serverWithout(t)
	s.open(incarnation(2), supervise.Joiner)
	resume := func(generation uint32, lines int) {
		var at OutputResume
		at.Generation, at.Position[output.Stdout].Lines = generation, lines
		require.NoError(t, s.take(&agentwire.Frame{Kind: agentwire.KindResume, Of: incarnation(2), Body: agentwire.Encode(at)}))
	}
	first := func() int {
		from, _ := s.process(job.Process{Rank: 1}).With.buffers[output.Stdout].Rewind()
		return from.Lines
	}
	require.Zero(t, first())
	resume(0, 7)
	require.Equal(t, 7, first())
	resume(0, 9)
	require.Equal(t, 7, first(), "another head repeats it")
	resume(1, 3)
	require.Equal(t, 3, first(), "the job has rolled back")

	here, there := net.Pipe()
	defer there.Close()
	s.node = &node{heads: &Pursuit{term: 2}}
	go s.attach(here, 2)
	f, err := agentwire.NewConn(there).Read()
	require.NoError(t, err)
	var r Resync
	require.NoError(t, f.Decode(&r))
	require.Len(t, r.Processes, 1)
	x := r.Processes[0]
	require.Equal(t, incarnation(2), x.Of())
	require.True(t, x.Voiced)
	require.EqualValues(t, 1, x.Generation)
	require.Equal(t, 3, x.From[output.Stdout].Lines)
}
