package decision

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestEntryIsChecked(t *testing.T) {
	for _, e := range []Entry{{}, {Kind: "x"}, {Kind: Placed, Node: 2}, {Kind: Placed, Incarnation: 1}, {Kind: Lost}, {Kind: Added}, {Kind: Removed},
		{Kind: Died, Incarnation: 1}, {Kind: Died, Cause: job.CauseExit}, {Kind: Spawned}, {Kind: Withdrawn}, {Kind: Finished}, {Kind: Drained},
		{Kind: HostJoined}, {Kind: HostJoined, Host: &Host{Node: 2, Name: "h"}}, {Kind: Fired, Index: -1, Incarnation: 1}, {Kind: Fired}, {Kind: Opened}, {Kind: SetWhole}, {Kind: SetDone}, {Kind: SetAbandoned}, {Kind: Part},
		{Kind: Decided, Text: strings.Repeat("v", MaxEntry)}} {
		_, err := e.Encode()
		require.ErrorIs(t, err, ErrEntry, "%+v", e.Kind)
	}
	_, err := Decode([]byte("{"))
	require.ErrorIs(t, err, ErrEntry)
	_, err = Decode([]byte(`{"kind":"set whole","set":{"files":"eA=="}}`))
	require.ErrorIs(t, err, ErrEntry)
}

// long is an entry that takes several pieces.
func long(ranks int) Entry {
	s := &Set{Number: 7, Cut: 61, Files: make(Files, ranks)}
	for r := range s.Files {
		s.Files[r].Rank, s.Files[r].Bytes, s.Files[r].Sum = r, rand.Int64(), rand.Uint64()
	}
	return Entry{Kind: SetWhole, Set: s}
}

// An entry of any length arrives whole, even if an earlier head was lost between the pieces of
// another entry.
func TestLongEntries(t *testing.T) {
	for _, ranks := range []int{1, 1000, 20_000} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			e := long(ranks)
			parts, err := Split(e)
			require.NoError(t, err)
			require.Equal(t, ranks > 1000, len(parts) > 1)
			s := NewState()
			s.Join(Entry{Kind: Part, Value: []byte("pieces that a lost head has left"), First: true})
			for i, p := range parts {
				b, err := p.Encode()
				require.NoError(t, err, "each piece can be kept")
				p, err := Decode(b)
				require.NoError(t, err)
				whole, done, err := s.Clone().Join(p)
				require.NoError(t, err)
				require.Equal(t, i == len(parts)-1, done)
				if done {
					require.Equal(t, e, whole)
				}
				s.Join(p)
			}
			if len(parts) > 1 {
				require.Empty(t, s.Parts)
			}
		})
	}
	s := NewState()
	_, done, err := s.Join(Entry{Kind: Part, Value: []byte("nonsense"), First: true, Last: true})
	require.ErrorIs(t, err, ErrEntry)
	require.False(t, done)
	_, err = Split(Entry{})
	require.ErrorIs(t, err, ErrEntry)
	_, err = Split(Entry{Kind: SetWhole, Set: &Set{Files: Files{{Rank: 3}}}})
	require.ErrorContains(t, err, "file 0 of a set is that of rank 3")
}

// A shortened text fits into an entry, whatever its characters are.
func TestShorten(t *testing.T) {
	for _, text := range []string{"x", "\x00", "\xff", "é", "<", `"`, "\u2028", "😀"} {
		e := Entry{Kind: Died, Incarnation: 1, Cause: job.CausePanic, Text: Shorten(strings.Repeat(text, 64<<10))}
		b, err := e.Encode()
		require.NoError(t, err)
		require.Greater(t, len(b), maxText/2)
		require.Less(t, len(b), 2*maxText)
	}
	require.Equal(t, "short", Shorten("short"))
}

func FuzzDecode(f *testing.F) {
	e := Entry{Kind: Placed, Process: at(1, 1), Incarnation: 1, Node: 2}
	b, err := e.Encode()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{"kind":"part","value":"eA==","first":true,"last":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Decode(b)
		if err != nil {
			return
		}
		s := NewState()
		if whole, ok, _ := s.Join(e); ok && whole.Kind != Part {
			s.Apply(whole)
		}
		require.Equal(t, string(s.Snapshot()), string(s.Clone().Snapshot()))
	})
}
