package arbiter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
)

// BenchmarkBeat is all that one beat costs the two who exchange it, but for the
// system calls: made, sealed, opened, taken in.
func BenchmarkBeat(b *testing.B) {
	secret := job.Secret{1}
	aead, err := newAEAD(&secret)
	require.NoError(b, err)
	var roster []Peer
	for i := range 8 {
		roster = append(roster, Peer{ID: ID(i + 1), Host: string(rune('a' + i))})
	}
	now := lease.Now()
	from, err := NewNode(2, roster, DefaultTiming, now)
	require.NoError(b, err)
	to, err := NewNode(1, roster, DefaultTiming, now)
	require.NoError(b, err)
	s, o := newSealer(aead, 2), newOpener(aead, to.order)
	beats := 0
	for b.Loop() {
		now += time.Microsecond
		for _, a := range from.Tick(now) {
			if a, ok := a.(Send); ok && a.To == 1 {
				text, err := a.Message.encode()
				require.NoError(b, err)
				for _, d := range s.seal(text) {
					whole, _, err := o.open(d)
					require.NoError(b, err)
					if whole == nil {
						continue
					}
					m, err := decodeMessage(whole)
					require.NoError(b, err)
					to.Receive(m, now)
					beats++
				}
			}
		}
	}
	require.Positive(b, beats)
}
