package job

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// peers lists n processes with addresses of the greatest length.
func peers(n int) (all []Peer) {
	for i := range n {
		all = append(all, Peer{Process: Process{i, 1}, Incarnation: 1, Link: LinkTCP, Address: "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"})
	}
	return all
}

// The messages about peers, rollbacks and backups fit, even in a large job.
func TestMessagesOfALargeJob(t *testing.T) {
	const ranks = 50_000
	degrees := make([]int, ranks)
	order := &Order{Kind: OrderRollback, Peers: peers(ranks)}
	for rank := range degrees {
		degrees[rank] = 2
		order.Deals = append(order.Deals, Deal{From: Process{rank, 0}, To: Process{rank, 1}})
		order.Plan = append(order.Plan, Copy{Source: Process{rank, 0}, Holder: Process{(rank + 1) % ranks, 1}})
		order.Savers = append(order.Savers, Process{rank, 0})
	}
	h := newHead(t, NewSecret())
	s := h.admit(t, Setup{Self: Process{0, 0}, Incarnation: 1, Degrees: degrees})
	require.NoError(t, h.conn.Write(&Message{Kind: KindOrder, Order: order}))
	require.NoError(t, h.conn.Write(&Message{Kind: KindStart, Peers: peers(ranks)}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := s.awaitStart(ctx)
	require.NoError(t, err)
	require.Equal(t, peers(ranks), got)
	event, err := s.Next()
	require.NoError(t, err)
	require.Equal(t, *order, event)
}

// A message that is too large is refused before any byte of it is sent.
func TestTooLargeMessage(t *testing.T) {
	h := newHead(t, NewSecret())
	s := h.admit(t, Setup{Self: Process{0, 0}, Incarnation: 1, Degrees: []int{1}})
	err := h.conn.Write(&Message{Kind: KindEnd, Text: strings.Repeat("x", MaxMessage)})
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, `"end" has 16777240 bytes, at most 16777216 are allowed`)
	require.NoError(t, h.conn.Write(&Message{Kind: KindRelease}), "the connection still works")
	event, err := s.Next()
	require.NoError(t, err)
	require.Equal(t, Release{}, event)
}

// A process that cannot send a message for which the head waits fails. It does not
// continue.
func TestProcessFailsIfItsMessageIsTooLarge(t *testing.T) {
	for name, say := range map[string]func(s *Session){
		"stats": func(s *Session) {
			s.Stats(func() Stats { return Stats{TaskTypes: map[string]TaskStats{strings.Repeat("x", MaxMessage): {}}} })
		},
		"trace": func(s *Session) { s.Trace(make([]byte, MaxMessage/4*3)) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHead(t, NewSecret())
			s := h.admit(t, Setup{Self: Process{0, 0}, Incarnation: 1, Degrees: []int{1}})
			go say(s)
			_, err := s.Next()
			require.ErrorIs(t, err, ErrTooLarge)
			require.NotErrorIs(t, err, io.EOF, "the error does not mean that the launcher is gone")
			require.ErrorContains(t, err, `"`+name+`" has 16777`)
		})
	}
}

// Texts of any length and with any bytes arrive, shortened if necessary.
func TestTextsOfAnyLength(t *testing.T) {
	for name, text := range map[string]string{
		"letters": strings.Repeat("x", 2*MaxMessage),
		"zeros":   strings.Repeat("\x00", 2*MaxMessage),
		"broken":  strings.Repeat("\xff", 2*MaxMessage),
		"wide":    "." + strings.Repeat("é", 2*MaxMessage),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHead(t, NewSecret())
			s := h.admit(t, Setup{Self: Process{0, 0}, Incarnation: 1, Degrees: []int{1}})
			sent := make(chan error, 1)
			go func() {
				s.Suspect(Endpoint{Process{0, 1}, 1}, &textError{text})
				s.Reply(Reply{Kind: ReplySaved, Text: text})
				sent <- s.Fail(Failure{Kind: FailPanic, Text: text}, Stats{})
			}()
			for _, got := range []string{
				h.read(t, KindSuspect).Text,
				h.read(t, KindReply).Reply.Text,
				h.read(t, KindFail).Failure.Text,
			} {
				require.Greater(t, len(got), maxText/2)
				require.True(t, strings.HasSuffix(got, " …"), "%q", got[len(got)-20:])
				if name == "wide" {
					require.NotContains(t, got, "\ufffd", "no character is split")
				}
			}
			require.NoError(t, <-sent)
		})
	}
}

type textError struct{ text string }

func (e *textError) Error() string { return e.text }
