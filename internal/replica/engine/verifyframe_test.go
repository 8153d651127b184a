package engine

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// saying returns a verifier with one peer, and the link to that peer.
func saying(t *testing.T) (*verifier, *tray) {
	t.Helper()
	var link tray
	s := job.Setup{Degrees: []int{2}, Incarnation: 1, Verify: &job.Verification{Share: 1}}
	e := New(t.Context(), Config{Head: &setUp{setup: s}, Links: map[job.Process]transport.Link{{Replica: 1}: &link}})
	require.NotNil(t, e.verifier)
	return e.verifier, &link
}

// transmit sends a message to a peer, and returns the message that the peer decodes.
func transmit(t *testing.T, v *verifier, link *tray, w *verify.Word) (*verify.Word, error) {
	t.Helper()
	link.frames = nil
	v.say(1, w)
	require.Len(t, link.frames, 1)
	m, err := update.ParseMessage(&link.frames[0].Header)
	require.NoError(t, err)
	require.Equal(t, update.KindVerify, m.Kind)
	return parseWord(m, link.frames[0].Payload[0])
}

func TestMessagesAreDecodedAsTheyWereEncoded(t *testing.T) {
	v, link := saying(t)
	for name, w := range map[string]verify.Word{
		"a hash":  {First: []uint64{math.MaxUint64}},
		"hashes":  {First: []uint64{0, 1, 2}},
		"a rerun": {Again: []verify.Again{{Index: 3, Entry: 9, First: verify.Run{Hash: 1, Core: 2}, Second: verify.Run{Hash: 4, Core: -1}}}},
		"reruns":  {Again: []verify.Again{{Index: 0, Entry: 1}, {Index: 7, Second: verify.Run{Hash: 5, Core: 6}}}},
		"result":  {Result: &verify.Result{Right: []uint64{4, 5}}},
		"result of a dispute": {Result: &verify.Result{Right: []uint64{4, 5, 6}, Differed: []int{0, 2},
			Faulty: []verify.Faulty{{Replica: 1, Index: 2, Core: 3}, {Replica: 2, Core: -1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			w.Section, w.Signature, w.Deaths = 1<<40, math.MaxUint64, 3
			got, err := transmit(t, v, link, &w)
			require.NoError(t, err)
			require.Equal(t, &w, got)
		})
	}
}

// numbers returns a payload of these numbers.
func numbers(all ...uint64) (b []byte) {
	for _, n := range all {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

func TestParseWord(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    int
		payload []byte
		ok      bool
	}{
		{"no hash", wordFirst, nil, false},
		{"half a hash", wordFirst, make([]byte, 12), false},
		{"hashes", wordFirst, numbers(1, 2), true},
		{"no task ran again", wordAgain, nil, false},
		{"half of what ran again", wordAgain, make([]byte, 24), false},
		{"what ran again", wordAgain, make([]byte, 48), true},
		{"what ran again, and more", wordAgain, make([]byte, 49), false},
		{"no result", wordResult, make([]byte, 16), false},
		{"results of no task", wordResult, make([]byte, 24), false},
		{"a result", wordResult, numbers(1, 0, 9), true},
		{"fewer results than it says", wordResult, numbers(2, 0, 9), false},
		{"more differ than there are", wordResult, numbers(1, 2, 9, 0, 0), false},
		{"an index of no task", wordResult, numbers(1, 1, 9, 1), false},
		{"half a guilty process", wordResult, numbers(1, 0, 9, 0, 0), false},
		{"guilty of no task", wordResult, numbers(1, 0, 9, 0, 1, 0), false},
		{"a guilty process", wordResult, numbers(1, 1, 9, 0, 1, 0, 0), true},
		{"counts with sum 0", wordResult, numbers(1<<63, 1<<63, 9, 0, 0), false},
		{"counts beyond all", wordResult, numbers(math.MaxUint64, 1, 9, 0, 0), false},
		{"another kind", 3, numbers(1, 2), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := parseWord(update.Message{Kind: update.KindVerify, Task: c.kind}, c.payload)
			if c.ok {
				require.NoError(t, err)
				require.NotNil(t, w)
				return
			}
			require.ErrorIs(t, err, errWord)
			require.Nil(t, w)
		})
	}
}

// A message about verified tasks is an error in a job that verifies no tasks.
func TestWordWhereNoTaskIsVerified(t *testing.T) {
	var none *verifier
	m := update.Message{Kind: update.KindVerify, Task: wordFirst}
	require.ErrorContains(t, none.handleMessage(m, section.Update{Peer: 1}, numbers(1)), "no task is verified here")
}

// Any frame of a peer decodes to a message that can be encoded again, or to an error.
func FuzzParseWord(f *testing.F) {
	for kind := range 4 {
		f.Add(kind, make([]byte, 48))
	}
	f.Add(wordResult, numbers(2, 1, 8, 9, 1, 0, 1, 5))
	f.Add(wordResult, numbers(1<<63, 1<<63, 9, 0, 0))
	f.Fuzz(func(t *testing.T, kind int, payload []byte) {
		w, err := parseWord(update.Message{Kind: update.KindVerify, Task: kind}, payload)
		if err != nil {
			require.ErrorIs(t, err, errWord)
			return
		}
		v, link := saying(t)
		again, err := transmit(t, v, link, w)
		require.NoError(t, err)
		require.Equal(t, w, again)
		require.Equal(t, payload, link.frames[0].Payload[0])
	})
}
