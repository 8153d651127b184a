package sdr

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// pacing is a Waiter that calls a function in each wait with a deadline.
type pacing struct {
	never
	waits int
	do    func()
}

func (w *pacing) WaitUntil(_ context.Context, _ time.Time, done func() bool) error {
	if w.waits++; !done() {
		w.do()
	}
	return nil
}

// counting is a direct link that counts offers.
type counting struct {
	direct
	offers int
}

func (l *counting) Send(f *transport.Frame) {
	if f.Header.Kind == kindOffer {
		l.offers++
	}
	l.direct.Send(f)
}

// A sender waits for a receiver that receives its messages, and offers nothing. If the
// receiver does not receive, the sender waits only once, and not again before the receiver
// returns room.
func TestPace(t *testing.T) {
	const messages, room = 100, 10
	limits := Limits{Window: room * (frameCost + 1)}
	for _, collective := range []bool{false, true} {
		w := &pacing{}
		var engines [2]*Engine
		var contexts [2]*Context
		link := &counting{}
		for rank := range engines {
			engines[rank] = NewEngine(Config{Rank: rank, Degrees: []int{1, 1}, Poller: w, Limits: limits,
				Link: func(to, _ int) transport.Link {
					if to == 1 {
						link.to = engines[1].Receiver(0, 0)
						return link
					}
					return &direct{to: engines[0].Receiver(1, 0)}
				}})
			ctx, err := engines[rank].Join(1, 1, collective, nil)
			require.NoError(t, err)
			contexts[rank] = ctx
		}
		sent, received := 0, 0
		send := func() {
			if collective {
				request, posted := new(Request), false
				engines[0].Start(contexts[0], &Script{Step: func() []Post {
					if posted {
						return nil
					}
					posted = true
					return []Post{{Request: request, Data: make([]byte, 1), Peer: 1, Number: uint64(sent)}}
				}})
			} else if data := make([]byte, 1); !engines[0].SendNow(contexts[0], data, 1, 0) {
				engines[0].Send(contexts[0], &engines[0].NewCall().Request, data, 1, 0, false)
			}
			sent++
		}
		take := func() {
			for ; received < sent; received++ {
				r, room := engines[1].NewCall(), make([]byte, 1)
				if collective {
					engines[1].mu.Lock()
					engines[1].core.matching.RecvExact(contexts[1], &r.Request, room, 0, uint64(received), 0)
					engines[1].flushAndUnlock()
				} else {
					engines[1].Recv(contexts[1], &r.Request, room, 0, 0)
				}
				require.True(t, r.Done())
			}
		}
		w.do = take
		for range messages {
			send()
		}
		require.Zero(t, link.offers)
		require.InDelta(t, messages/room, w.waits, 2)

		take()
		w.waits, w.do = 0, func() {}
		for range messages {
			send()
		}
		require.Equal(t, 1, w.waits, "the receiver does not receive")
		require.NotZero(t, link.offers)
		take()
		for range room + 1 {
			send()
		}
		require.Equal(t, 2, w.waits, "the receiver has received")
	}
}
