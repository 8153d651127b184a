package sdr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLine compares a line with a slice that is searched from the front. It compares the
// order, and the first place of each key, while places are added, inserted and removed.
func TestLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	indexed := 0
	for range 12 {
		var l line
		var want []*place
		clock, growing := uint64(0), true
		for range 600 {
			if len(want) == 0 || len(want) > 100 {
				growing = len(want) == 0
			}
			switch {
			case growing == (random.IntN(4) > 0):
				clock += 10
				p := &place{key: random.Uint64N(12), receive: &Request{order: clock}}
				if random.IntN(8) == 0 {
					p.key = anyKey
				}
				at := len(want)
				if random.IntN(50) == 0 { // a receive returns to its old place
					at = random.IntN(len(want) + 1)
					p.receive.order = 0
					if at > 0 {
						p.receive.order = want[at-1].receive.order + 1
					}
				}
				if at == 0 {
					l.insert(nil, p)
				} else {
					l.insert(want[at-1], p)
				}
				want = slices.Insert(want, at, p)
			case len(want) > 0:
				at := random.IntN(len(want)) * random.IntN(2)
				want[at].leave()
				require.Nil(t, want[at].line)
				want = slices.Delete(want, at, at+1)
			}
			if l.index != nil {
				indexed++
			}
			require.True(t, slices.Equal(want, slices.Collect(l.all())))
			for key := range uint64(13) {
				var rest []*place
				for p := l.find(key); p != nil; p = p.after(key) {
					rest = append(rest, p)
				}
				var matching []*place
				for _, p := range want {
					if p.matches(key) {
						matching = append(matching, p)
					}
				}
				require.True(t, slices.Equal(matching, rest))
			}
			require.True(t, l.find(anyKey) == l.first)
		}
	}
	require.Greater(t, indexed, 1000)
}

// oracle matches messages and receives as the MPI standard requires, by walking through
// lists. A message matches the first posted receive that accepts it. For a receive, the
// oracle determines the first acceptable message of each source, and the receive matches
// the one of these that arrived first.
type oracle struct {
	receives []wanted
	messages []came
	got      map[int]string // by number of the receive
}

type wanted struct{ id, src, tag int }

type came struct {
	src, tag int
	text     string
}

func (w wanted) accepts(m came) bool {
	return (w.src == Any || w.src == m.src) && (w.tag == Any || w.tag == m.tag)
}

func (o *oracle) arrive(m came) {
	for i, w := range o.receives {
		if w.accepts(m) {
			o.receives = slices.Delete(o.receives, i, i+1)
			o.got[w.id] = fmt.Sprint(m.src, ":", m.text)
			return
		}
	}
	o.messages = append(o.messages, m)
}

func (o *oracle) post(w wanted) {
	if i := slices.IndexFunc(o.messages, w.accepts); i >= 0 {
		o.got[w.id] = fmt.Sprint(o.messages[i].src, ":", o.messages[i].text)
		o.messages = slices.Delete(o.messages, i, i+1)
		return
	}
	o.receives = append(o.receives, w)
}

// TestMatchingOrder compares a core with the oracle while lines grow and shrink. The
// receives are for one source or any, and for one tag or any. Messages arrive with their
// payload or are offered. The test also probes and cancels receives.
func TestMatchingOrder(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 45))
		n := newNet(t, Limits{Eager: 12, Window: 1 << 20}, 1, 1, 1, 1)
		o := oracle{got: make(map[int]string)}
		var posted []*pendingRecv
		queued := make([][]came, 4) // sent and not delivered
		tags := 1 + random.IntN(60)
		tag := func() int { return random.IntN(tags) }
		wild := func(v, of int) int {
			if random.IntN(of) == 0 {
				return Any
			}
			return v
		}
		sources, anyTags := 1+random.IntN(8), 1+random.IntN(30)
		for range 12 {
			weights := []int{random.IntN(4), random.IntN(4), random.IntN(4)} // weights of sending, delivering, posting
			for range 80 {
				switch pick := random.IntN(4 + weights[0] + weights[1] + weights[2]); {
				case pick < 1+weights[0]:
					src := 1 + random.IntN(3)
					m := came{src: src, tag: tag(), text: fmt.Sprint(random.IntN(1e6))}
					if random.IntN(4) == 0 {
						m.text += " is too long to be sent at once"
					}
					n.send(src, m.text, 0, m.tag)
					queued[src] = append(queued[src], m)
				case pick < 2+weights[0]+weights[1]:
					src := 1 + random.IntN(3)
					if len(queued[src]) > 0 {
						n.deliverNext(src, 0)
						o.arrive(queued[src][0])
						queued[src] = queued[src][1:]
					}
				case pick < 3+weights[0]+weights[1]+weights[2]:
					w := wanted{len(posted), wild(1+random.IntN(3), sources), wild(tag(), anyTags)}
					posted = append(posted, n.recv(0, w.src, w.tag))
					o.post(w)
				case len(o.receives) > 0 && random.IntN(3) == 0:
					i := random.IntN(len(o.receives))
					require.True(t, n.cores[0].matching.Cancel(&posted[o.receives[i].id].Request))
					o.receives = slices.Delete(o.receives, i, i+1)
				default:
					w := wanted{-1, wild(1+random.IntN(3), 2), wild(tag(), 2)}
					st, found := n.cores[0].matching.Probe(n.ctxs[0], w.src, w.tag)
					i := slices.IndexFunc(o.messages, w.accepts)
					require.Equal(t, i >= 0, found)
					if found {
						require.Equal(t, o.messages[i].src, st.Source, "seed %d", seed)
						require.Equal(t, o.messages[i].tag, st.Tag, "seed %d", seed)
					}
				}
			}
		}
		for src, list := range queued {
			for _, m := range list {
				n.deliverNext(src, 0)
				o.arrive(m)
			}
		}
		n.deliverAll()
		for id, r := range posted {
			want, matched := o.got[id]
			if !matched {
				st, _ := r.Result()
				require.True(t, !r.Done() || st.Cancelled, "seed %d", seed)
				continue
			}
			require.Equal(t, want, r.text(t), "seed %d", seed)
		}
	}
}

// deliverNext moves frames from one process to another up to the next message, or its
// offer. Before that it moves all other frames in both directions.
func (n *net) deliverNext(from, to int) {
	for {
		f := n.wire[[2]int{from, to}][0]
		n.deliver(from, to)
		if f.header.Kind == kindEager || f.header.Kind == kindOffer {
			return
		}
	}
}
