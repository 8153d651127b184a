package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// pair returns an engine, and the receiver of a peer that sends frames. A section of two
// tasks that write 4 bytes each is open.
func pair(t *testing.T, receive job.Receive) (e *Engine, r *receiver, s *Section, mem [2][]byte) {
	t.Helper()
	h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: 1}}}
	peer := job.Process{Replica: 1}
	e = New(t.Context(), Config{Head: h, Links: map[job.Process]transport.Link{peer: &startable{}}, Receive: receive, Share: true})
	r = newReceiver(e, peer, 1)
	s = &Section{Policy: sched.Static, Guard: func(_ *Task, body func()) { body() }}
	for i := range mem {
		mem[i] = []byte{1, 2, 3, 4}
		s.Tasks = append(s.Tasks, Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.InOut, "w", mem[i])}})
	}
	e.Opened(s)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = s
	require.NoError(t, e.enter(s))
	return e, r, s, mem
}

// header returns the header of a frame of the peer about a task.
func header(e *Engine, s *Section, kind update.Kind, task int, incarnation uint32) *transport.Header {
	m := update.Message{Kind: kind, Section: s.Number, Task: task, Tasks: len(s.Tasks), Signature: e.machine.Signature()}
	h := m.Header(incarnation)
	if kind == update.KindUpdate {
		h.Size = 4
	}
	return &h
}

func TestUpdatesAreReceived(t *testing.T) {
	bytes := []byte{9, 8, 7, 6}
	for name, c := range map[string]struct {
		receive     job.Receive
		task        int
		incarnation uint32
		whole       bool // the update lies in the memory of the link
		applied     bool
	}{
		"into a buffer":                {job.ReceiveStaged, 1, 1, false, true},
		"into place":                   {job.ReceiveInPlace, 1, 1, false, true},
		"from the link":                {job.ReceiveStaged, 1, 1, true, true},
		"of an incarnation that ended": {job.ReceiveInPlace, 1, 7, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, r, s, mem := pair(t, c.receive)
			h := header(e, s, update.KindUpdate, c.task, c.incarnation)
			if c.whole {
				r.End(h, bytes)
			} else {
				place := r.Begin(h)
				if !c.applied {
					require.Nil(t, place)
					place = make([]byte, 4)
				}
				require.Equal(t, c.receive == job.ReceiveInPlace && c.applied, &place[0] == &mem[1][0])
				copy(place, bytes)
				r.End(h, place)
			}
			require.NoError(t, e.err)
			if c.applied {
				require.Equal(t, bytes, mem[1])
				require.EqualValues(t, 1, e.stats.total.TasksReceived)
			} else {
				require.Equal(t, []byte{1, 2, 3, 4}, mem[1])
				require.Zero(t, e.stats.total.TasksReceived)
			}
			require.Zero(t, e.filling.Load())
		})
	}
}

// No byte of a torn update remains, and the next frame is not treated as a part of it.
func TestTornUpdate(t *testing.T) {
	for _, receive := range []job.Receive{job.ReceiveStaged, job.ReceiveInPlace} {
		e, r, s, mem := pair(t, receive)
		h := header(e, s, update.KindUpdate, 1, 1)
		copy(r.Begin(h), []byte{9, 9})
		r.Torn(h, 2)
		require.Equal(t, []byte{1, 2, 3, 4}, mem[1])
		require.EqualValues(t, 1, e.stats.total.UpdatesTorn)
		require.Zero(t, e.filling.Load())
		require.Nil(t, r.begun)
		r.Lost(h)
		require.EqualValues(t, 1, e.stats.total.UpdatesLost)

		e.messages.Store(sdr.NewEngine(e.messaging()))
		r.End(&transport.Header{Channel: transport.ChannelMessage, Incarnation: 1}, nil)
		require.Same(t, e.Messages(), r.of)
	}
}

// A process that rolls back waits until its memory is no longer used. From then on no
// update is received into that memory, because it could overwrite the restored state.
func TestNoUpdateAfterARollbackBegan(t *testing.T) {
	e, r, s, mem := pair(t, job.ReceiveInPlace)
	begun := header(e, s, update.KindUpdate, 1, 1)
	place := r.Begin(begun)
	require.False(t, e.retire(), "one is being received")
	r.Torn(begun, 0)
	require.Equal(t, []byte{1, 2, 3, 4}, mem[1])
	require.Same(t, &mem[1][0], &place[0])
	require.True(t, e.retire())
	for task := range mem {
		late := r.Begin(header(e, s, update.KindUpdate, task, 1))
		require.NotSame(t, &mem[task][0], &late[0])
		require.True(t, e.retire())
		r.Torn(header(e, s, update.KindUpdate, task, 1), 0)
	}
	require.NoError(t, e.err)
}

// An update of a later section is kept. An update of an earlier section is dropped.
func TestEarlyAndLateUpdates(t *testing.T) {
	e, r, s, mem := pair(t, job.ReceiveStaged)
	next := &Section{Number: s.Number + 1, Policy: s.Policy, Guard: s.Guard, Tasks: s.Tasks}
	r.End(header(e, next, update.KindUpdate, 0, 1), []byte{5, 5, 5, 5})
	require.NoError(t, e.err)
	require.Equal(t, []byte{1, 2, 3, 4}, mem[0])

	e.mu.Lock()
	require.NoError(t, e.pass(s, e.machine.Signature()))
	e.mu.Unlock()
	r.End(header(e, s, update.KindUpdate, 1, 1), []byte{6, 6, 6, 6})
	require.NoError(t, e.err)
	require.Equal(t, []byte{1, 2, 3, 4}, mem[1])

	e.mu.Lock()
	e.open = next
	require.NoError(t, e.enter(next))
	e.mu.Unlock()
	require.Equal(t, []byte{5, 5, 5, 5}, mem[0], "when it is entered")
}

func TestWordsOfAPeer(t *testing.T) {
	for name, c := range map[string]struct {
		kind      update.Kind
		signature uint64 // added to the signature
		want      string
	}{
		"claim":              {update.KindClaim, 0, ""},
		"entered":            {update.KindEntered, 0, ""},
		"claim of another":   {update.KindClaim, 1, "signature"},
		"entered another":    {update.KindEntered, 1, "signature"},
		"returned before":    {update.KindBye, 0, "the program returned after 0 sections"},
		"nonsense":           {update.Kind(77), 0, "from 0.1: "},
		"update of another":  {update.KindUpdate, 1, "signature"},
		"the result of Once": {update.KindOnceResult, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, r, s, _ := pair(t, job.ReceiveStaged)
			h := header(e, s, c.kind, 1, 1)
			m := update.Message{Kind: c.kind, Section: s.Number, Task: 1, Tasks: 2, Signature: e.machine.Signature() + c.signature}
			size := h.Size
			*h = m.Header(1)
			if h.Size = size; size > 0 {
				r.Begin(h)
			}
			seen := e.changes.Load()
			r.End(h, make([]byte, size))
			if c.want == "" {
				require.NoError(t, e.err)
				require.True(t, e.changedSince(seen))
				return
			}
			require.ErrorContains(t, e.err, c.want)
		})
	}
}

// A process without a slot accepts no messages, and its links end as usual.
func TestReceiverOfAJoiner(t *testing.T) {
	h := &suspicious{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: 3, Joiner: true}}}
	e := New(t.Context(), Config{Head: h})
	r := newReceiver(e, job.Process{Replica: 1}, 1)
	require.Nil(t, r.Begin(&transport.Header{Channel: transport.ChannelMessage, Size: 8}))
	r.End(&transport.Header{Channel: transport.ChannelMessage, Size: 8}, make([]byte, 8))
	r.Torn(&transport.Header{Channel: transport.ChannelMessage, Size: 8}, 3)
	e.peerLinks.set(r.from, 1, &silent{})
	r.Closed(transport.ErrClosed)
	require.True(t, e.peerLinks.isClosed(r.from, 1))
	require.Empty(t, h.suspects)
	r.Closed(transport.ErrPeerGone)
	require.Equal(t, []job.Endpoint{{Process: r.from, Incarnation: 1}}, h.suspects)
}

// suspicious is a head that records reports of suspicions.
type suspicious struct {
	setUp
	suspects []job.Endpoint
}

func (h *suspicious) Suspect(p job.Endpoint, _ error) { h.suspects = append(h.suspects, p) }

// A frame that no process of this version sends makes the receiver fail.
func TestMalformedStates(t *testing.T) {
	begin := transferID{kind: transferBackup, stream: 1, number: 4}
	for name, c := range map[string]struct {
		frames []transport.Header
		want   string
	}{
		"a kind":       {[]transport.Header{transferID{kind: 9}.header(frameBegin, checkpoint.Key{})}, "malformed position: a frame with state for 9 of rank 0"},
		"a rank":       {[]transport.Header{transferID{kind: transferBack, rank: 5}.header(frameBegin, checkpoint.Key{})}, "of rank 5"},
		"a frame":      {[]transport.Header{begin.header(77, checkpoint.Key{})}, "malformed position: kind 77"},
		"no beginning": {[]transport.Header{begin.header(frameEnd, checkpoint.Key{})}, "state without a beginning"},
		"another": {[]transport.Header{begin.header(frameBegin, checkpoint.Key{}),
			transferID{kind: transferBack, stream: 1, number: 4}.header(frameEnd, checkpoint.Key{})}, "state without a beginning"},
		"no manifest": {[]transport.Header{begin.header(frameBegin, checkpoint.Key{}), begin.header(frameEnd, checkpoint.Key{})}, "the state of rank 0: malformed position"},
		"chunk twice": {[]transport.Header{begin.header(frameBegin, checkpoint.Key{}), begin.header(frameChunk, checkpoint.Key{Var: 1}),
			begin.header(frameChunk, checkpoint.Key{Var: 1})}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{1, 1}}}}
			e := New(t.Context(), Config{Head: h})
			e.recovering.member = recovery.NewMember(e.setup.Self, 0, 0)
			r := newReceiver(e, job.Process{Rank: 1}, 1)
			for _, f := range c.frames {
				r.End(&f, nil)
			}
			if c.want != "" {
				require.ErrorContains(t, e.Err(), c.want)
			}
			require.Empty(t, h.all)
		})
	}
}
