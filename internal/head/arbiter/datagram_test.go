package arbiter

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

func sealing(t testing.TB) (*sealer, *opener) {
	secret := job.Secret{1, 2, 3}
	aead, err := newAEAD(&secret)
	require.NoError(t, err)
	return newSealer(aead, 2), newOpener(aead, []ID{2, 3})
}

func TestSeal(t *testing.T) {
	s, o := sealing(t)
	for _, n := range []int{0, 1, partSize, partSize + 1, 10 * partSize} {
		message := bytes.Repeat([]byte{byte(n)}, n)
		datagrams := s.seal(message)
		for i, d := range datagrams {
			require.NotContains(t, string(d), string(bytes.Repeat([]byte{byte(n)}, 8)), "it is sealed")
			got, from, err := o.open(d)
			require.NoError(t, err)
			require.Equal(t, ID(2), from)
			if i < len(datagrams)-1 {
				require.Nil(t, got)
				continue
			}
			require.Equal(t, len(message), len(got))
			require.True(t, bytes.Equal(message, got))
		}
	}
}

// TestReplay opens each datagram several times, in any order: only the first time succeeds.
func TestReplay(t *testing.T) {
	s, o := sealing(t)
	var all [][]byte
	for range 100 {
		all = append(all, s.seal([]byte("m"))...)
	}
	opens := func(i int) bool {
		b, _, err := o.open(all[i])
		require.NoError(t, err)
		return b != nil
	}
	require.True(t, opens(10))
	require.True(t, opens(5), "overtaken")
	require.False(t, opens(10))
	require.False(t, opens(5))
	require.True(t, opens(99))
	require.False(t, opens(20), "older than the window")
	require.True(t, opens(98))
	require.False(t, opens(99))
}

// TestForgery checks that no datagram that a stranger has made or changed can be opened.
func TestForgery(t *testing.T) {
	s, o := sealing(t)
	d := s.seal([]byte("message"))[0]
	for i := range d {
		bad := bytes.Clone(d)
		bad[i] ^= 1
		_, _, err := o.open(bad)
		require.ErrorIs(t, err, errDatagram, "byte %d", i)
		_, _, err = o.open(d[:i])
		require.ErrorIs(t, err, errDatagram, "length %d", i)
	}
	other := job.NewSecret()
	aead, err := newAEAD(&other)
	require.NoError(t, err)
	_, _, err = o.open(newSealer(aead, 2).seal([]byte("message"))[0])
	require.ErrorIs(t, err, errDatagram, "another job's")
	got, _, err := o.open(d)
	require.NoError(t, err)
	require.Equal(t, "message", string(got), "the genuine datagram still opens")
}

// FuzzOpen feeds datagrams that could come from the network, and some that a
// node with the secret could send.
func FuzzOpen(f *testing.F) {
	other := job.NewSecret()
	aead, err := newAEAD(&other)
	require.NoError(f, err)
	s := newSealer(aead, 2)
	seed := func(m *Message) {
		text, err := m.encode()
		require.NoError(f, err)
		f.Add(s.seal(text)[0], text)
	}
	seed(&Message{From: 1, To: 2, Seq: 1, Term: 2, Leader: 1, Grant: ms, Sightings: []detect.Sighting{{Host: 4, Age: 1, Silence: 1, Limit: 1}}})
	seed(&Message{From: 2, To: 1, Raft: []*raftpb.Message{{Type: raftpb.MsgApp.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(uint64(2)), Entries: []*raftpb.Entry{{}}}}})
	seed(&Message{From: 1, To: 4, Seq: 1, Term: 2, Leader: 1, Lost: "why", Verdicts: []job.Verdict{{Epoch: 1}}})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, datagram, message []byte) {
		s, o := sealing(t)
		if b, _, err := o.open(datagram); err == nil && b != nil {
			t.Fatal("a datagram from an unknown node")
		}
		for _, d := range s.seal(message) {
			_, _, err := o.open(d)
			require.NoError(t, err)
		}
		m, err := decodeMessage(message)
		if err != nil {
			require.ErrorIs(t, err, ErrMessage)
			return
		}
		again, err := m.encode()
		require.NoError(t, err)
		same, err := decodeMessage(again)
		require.NoError(t, err)
		require.Equal(t, m.numbers(), same.numbers())
		require.Equal(t, m.Sightings, same.Sightings)
		require.Equal(t, m.Verdicts, same.Verdicts)
		for _, id := range []ID{1, 2, 4} { // ids of two members and an agent
			n, err := NewNode(id, []Peer{{ID: 1, Host: "a"}, {ID: 2, Host: "b"}, {ID: 3, Host: "c"}, {ID: 4, Host: "d"}}, DefaultTiming, 0)
			require.NoError(t, err)
			n.Tick(DefaultTiming.Detect.Interval)
			n.Receive(m, DefaultTiming.Detect.Interval)
			n.Tick(2 * DefaultTiming.Detect.Interval)
		}
	})
}
