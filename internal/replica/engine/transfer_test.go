package engine

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// tray is a link that keeps the frames sent.
type tray struct {
	transport.Link
	mu     sync.Mutex
	frames []transport.Frame
}

func (l *tray) Send(f *transport.Frame) {
	l.mu.Lock()
	l.frames = append(l.frames, transport.Frame{Header: f.Header, Payload: [][]byte{slices.Concat(f.Payload...)}})
	l.mu.Unlock()
	f.Owner.Sent(f, nil)
}

// replies is a head that only records replies.
type replies struct {
	setUp
	all []job.Reply
}

func (h *replies) Reply(r job.Reply) { h.all = append(h.all, r) }

// Several states may be in progress from one process to another, one after the other or
// interleaved: for example a backup that is renewed in parallel to the next one.
func TestInterleavedStates(t *testing.T) {
	engine := sdr.NewEngine(sdr.Config{Degrees: []int{1}})
	require.NoError(t, engine.Drain(t.Context(), 1))
	messages, err := engine.Position()
	require.NoError(t, err)

	source := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Self: job.Process{Replica: 1}, Degrees: []int{2}}}})
	source.recovering.member = recovery.NewMember(source.setup.Self, 0, 0)
	var sent [2]tray
	for i := range sent {
		at, err := (&rankPosition{Section: section.Position{}, Point: uint64(4 + i), messages: messages}).append(nil)
		require.NoError(t, err)
		source.recovering.streams++
		out := &outbound{link: &sent[i], poller: source.poller,
			id: transferID{kind: transferBackup, stream: source.recovering.streams, number: uint64(4 + i), full: 4}}
		out.all(saved(t), at, nil)
		require.Greater(t, len(sent[i].frames), 2)
	}

	h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{2}}}}
	holder := New(t.Context(), Config{Head: h})
	holder.recovering.member = recovery.NewMember(holder.setup.Self, 0, 0)
	r := newReceiver(holder, source.setup.Self, 1)
	for i := range max(len(sent[0].frames), len(sent[1].frames)) {
		for s := range sent {
			if i < len(sent[s].frames) {
				f := sent[s].frames[i]
				r.End(&f.Header, f.Payload[0])
			}
		}
	}
	require.NoError(t, holder.err)
	require.Empty(t, r.states.came)
	require.Len(t, h.all, 2)
	for i, reply := range h.all {
		require.Equal(t, job.Reply{Kind: job.ReplyStored, Number: uint64(4 + i)}, reply)
		s, ok := holder.recovering.slots.Get(0, uint64(4+i))
		require.True(t, ok)
		require.Equal(t, saved(t).Manifest(), s.image.Manifest())
	}

	// Chunks of a state that was never announced are malformed.
	f := sent[0].frames[1]
	f.Header.Args[0] |= 77 << 40
	r.End(&f.Header, f.Payload[0])
	require.ErrorContains(t, holder.err, "state without a beginning")
}

// A joiner knows how much of its state has arrived.
func TestAJoinerKnowsHowMuchHasArrived(t *testing.T) {
	donor := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Degrees: []int{2}}}})
	var sent tray
	im := saved(t)
	out := &outbound{link: &sent, poller: donor.poller, id: transferID{kind: transferJoin, stream: 1}}
	out.all(im, nil, nil)
	require.Greater(t, len(sent.frames), 3)

	joiner := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Self: job.Process{Replica: 1}, Degrees: []int{2}, Joiner: true}}})
	r := newReceiver(joiner, job.Process{}, 1)
	bytes := 0
	for i, f := range sent.frames[:len(sent.frames)-1] {
		r.End(&f.Header, f.Payload[0])
		if i > 0 {
			bytes += len(f.Payload[0])
		}
		d := joiner.doing()
		require.Equal(t, job.StateJoining, d.State)
		require.InDelta(t, float64(bytes)/float64(im.Bytes()), d.Arrived, 1e-9)
	}
	require.Equal(t, im.Bytes(), bytes)
}
