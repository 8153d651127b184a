package sdr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

// A replica whose program has returned sends no more messages. If another replica has sent
// a message beyond that, this is a difference, no matter when the report arrives.
func TestMessageThatOneReplicaNeverSends(t *testing.T) {
	for _, order := range []string{"report end", "end report"} {
		t.Run(order, func(t *testing.T) {
			n := comparing(t, Limits{}, 2, 2)
			for p := range 2 {
				n.post(n.p(0, p), "both", 1, 0)
			}
			n.post(n.p(0, 1), "one", 1, 0)
			n.deliverAll()
			for _, step := range strings.Fields(order) {
				if step == "end" {
					n.cores[n.p(0, 0)].Drain()
					n.carry(n.p(0, 0))
					n.deliverAll()
				} else {
					n.report(n.p(1, 0))
					n.report(n.p(1, 1))
				}
			}
			found := n.cores[n.p(0, 0)].comparer.differences
			require.Len(t, found, 1)
			require.Equal(t, []Sent{{Replica: 0, None: true}, {Replica: 1, Hash: xxh3.HashString("one")}}, found[0].Sent)
			require.Equal(t, fmt.Sprintf("not all replicas of rank 0 have sent message 1 to rank 1 (replica 0: none, replica 1: %016x)", xxh3.HashString("one")), found[0].String())
			require.Nil(t, found[0].Minority())
			require.Empty(t, n.cores[n.p(0, 1)].comparer.differences)
			nothingKept(t, n.cores[n.p(0, 0)])
		})
	}
}

// Processes reach the assertion of their program at different times. A message may arrive before its
// receiver has reached the assertion. The receiver's report on the message may arrive before the
// sibling of the sender has reached it. In both cases the message is compared.
func TestMessagesThatArriveBeforeTheAssertion(t *testing.T) {
	const text = "one"
	for _, late := range []string{"receivers", "sibling", "receivers sibling"} {
		for _, size := range []int{1 << 10, 1} { // sent at once, offered
			t.Run(fmt.Sprintf("%s, %d bytes at once", late, size), func(t *testing.T) {
				n := newNet(t, Limits{Eager: size}, 2, 2)
				sibling, sender, receivers := n.p(0, 0), n.p(0, 1), []int{n.p(1, 0), n.p(1, 1)}
				for p, c := range n.cores {
					c.comparer.sum = xxh3.Hash
					if p == sender || p == sibling && !strings.Contains(late, "sibling") || p > sender && !strings.Contains(late, "receivers") {
						c.comparer.begin("first line")
					}
				}
				n.post(sender, text, 1, 0)
				for _, p := range receivers {
					n.recv(p, 0, 0)
				}
				n.deliverAll()
				for _, c := range n.cores {
					c.comparer.begin("first line")
				}
				for _, p := range receivers {
					n.report(p)
				}
				n.cores[sibling].Drain()
				n.carry(sibling)
				n.deliverAll()
				found := n.cores[sibling].comparer.differences
				require.Len(t, found, 1)
				require.Equal(t, []Sent{{Replica: 0, None: true}, {Replica: 1, Hash: xxh3.HashString(text)}}, found[0].Sent)
				nothingKept(t, n.cores[sibling], n.cores[receivers[0]], n.cores[receivers[1]])
			})
		}
	}
}

// A program ends only when the other replicas of its rank have the hashes of all its messages,
// including hashes from receivers whose programs had already returned. So the job releases no
// process that may still find a difference.
func TestEndWaitsForTheHashesOfTheLastMessages(t *testing.T) {
	for _, dies := range []bool{false, true} {
		n := comparing(t, Limits{}, 2, 2)
		late, first, to := n.p(0, 1), n.p(0, 0), n.p(1, 1)
		for p := range n.cores {
			if p != late {
				n.cores[p].Drain()
				n.carry(p)
			}
		}
		n.deliverAll()
		n.post(late, "one", 1, 0)
		known := func() bool {
			ok := n.cores[late].outgoing.confirmed(ofHashes)
			n.carry(late)
			return ok
		}
		for range 3 {
			require.False(t, known())
			n.deliverAll([2]int{to, first}) // the report is on its way
		}
		if dies {
			n.die(first)
			n.carry(to)
		}
		n.deliverAll()
		if dies { // late serves 1.0, too
			require.False(t, known())
			n.deliverAll()
		}
		require.True(t, known())
		if !dies {
			require.Len(t, n.cores[first].comparer.differences, 1)
		}
	}
}
