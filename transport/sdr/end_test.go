package sdr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
	"github.com/intrahpc/intra/transport"
)

// TestTakeNext: the fast path leaves a core in exactly the same state as the slow one,
// after any earlier events.
func TestTakeNext(t *testing.T) {
	taken := 0
	first, n := simseed.Range(t, 400)
	for seed := first; seed < first+n; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		degrees := [][]int{{1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {2, 2, 2}}[seed%4]
		var cores [2]*Core
		var contexts [2][2]*Context
		for i := range cores {
			cores[i] = NewCore(0, 0, 1, degrees, seed%3 == 0, Limits{Eager: 8, Window: 2000, Retain: 500})
			for k := range contexts[i] {
				ctx, err := cores[i].Join(uint64(1+k), 1, k == 1, nil)
				require.NoError(t, err)
				contexts[i][k] = ctx
			}
		}
		each := func(do func(c *Core, ctx [2]*Context)) {
			for i, c := range cores {
				do(c, contexts[i])
			}
		}
		trace := ""
		var next [3][2]uint64
		for range 40 {
			k, tag, size, source := r.IntN(2), r.IntN(2), r.IntN(6), 1+r.IntN(8)/7
			switch r.IntN(40) {
			case 0:
				trace += " any"
				each(func(c *Core, ctx [2]*Context) { c.matching.Recv(ctx[0], new(Request), make([]byte, 8), Any, Any) })
			case 1:
				trace += " send"
				each(func(c *Core, ctx [2]*Context) { c.Send(ctx[0], new(Request), []byte("m"), 1, 0, false) })
			case 2:
				if r.IntN(8) == 0 {
					trace += " dead"
					each(func(c *Core, _ [2]*Context) { c.Dead(c.job.ranks[1].first + degrees[1] - 1) })
				}
			case 3:
				trace += " want"
				each(func(c *Core, _ [2]*Context) {
					_ = c.End(c.job.ranks[1].first, &transport.Header{Kind: kindWant, Args: [6]uint64{1}, Incarnation: 1}, nil)
				})
			default: // mostly a receive and its message
				number := next[source][k]
				if r.IntN(20) == 0 {
					number = uint64(r.IntN(12)) // a repeated message, or one ahead of the due number
				} else {
					next[source][k]++
				}
				kind := uint8(kindEager)
				if r.IntN(10) == 0 {
					kind = kindOffer
				}
				room, want, awaited, early := r.IntN(9), []int{tag, tag, Any, 1 - tag}[r.IntN(4)], r.IntN(2) == 0, r.IntN(6) == 0
				if r.IntN(4) > 0 {
					room = 8
				}
				h := transport.Header{Kind: kind, Incarnation: 1, Size: uint64(size), Args: [6]uint64{uint64(1 + k), number, uint64(tag), uint64(r.IntN(3))}}
				if kind == kindOffer {
					h.Size, h.Args[3] = 0, uint64(size)
				}
				if k == 1 {
					h.Flags = flagExact
				}
				if kind == kindOffer && r.IntN(2) == 0 {
					h.Flags |= flagComes
				}
				if r.IntN(20) == 0 {
					h.Incarnation = uint32(r.IntN(3))
				}
				replica := r.IntN(degrees[source])
				trace += fmt.Sprintf(" %d.%d:%d.%d/%d", source, k, number, tag, kind)
				payload := []byte("payload")[:h.Size]
				for i, c := range cores {
					ctx := contexts[i][k]
					post := func() {
						if req := (&Request{awaited: awaited}); k == 1 {
							c.matching.RecvExact(ctx, req, make([]byte, room), source, number, tag)
						} else {
							c.matching.Recv(ctx, req, make([]byte, room), source, want)
						}
					}
					if !early {
						post()
					}
					p := c.job.ranks[source].first + replica
					if i == 1 {
						_ = c.end(p, &h, payload)
					} else if req := c.takeNext(p, &h, payload); req == nil {
						_ = c.end(p, &h, payload)
					} else {
						taken++
						c.out.completed = append(c.out.completed, req)
					}
					if early {
						post()
					}
				}
			}
			require.Equal(t, cores[0], cores[1], "seed %d:%s", seed, trace)
			require.Equal(t, cores[0].out.Actions(), cores[1].out.Actions())
			require.Equal(t, cores[0].Completed(), cores[1].Completed())
		}
	}
	if n >= 400 {
		require.Greater(t, taken, int(n)*3/2, "too few for a meaningful test")
	}
	t.Log(taken, "messages taken")
}
