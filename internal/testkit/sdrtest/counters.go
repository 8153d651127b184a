package sdrtest

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/transport/sdr"
)

// Pasts computes the causal histories of the messages of a job by a simple rule: every
// message carries a counter of operations for every rank of every clock domain. It compares
// the results of these counters with those of the causal histories of package sdr. The two
// must agree.
type Pasts struct {
	ranks, replicated int
	list              []vector // vectors of past 1, 2 and so on
	err               error
	messages, bytes   int
	compared          int
}

// NewPasts returns the Pasts of a job with these degrees.
func NewPasts(degrees []int) *Pasts {
	t := &Pasts{ranks: len(degrees)}
	for _, d := range degrees {
		if d > 1 {
			t.replicated++
		}
	}
	return t
}

// Err returns the first difference between the two, or nil.
func (t *Pasts) Err() error { return t.err }

// Compared returns how often the two agreed.
func (t *Pasts) Compared() int { return t.compared }

// Sizes returns the number of messages, and the total size of their causal histories.
func (t *Pasts) Sizes() (messages, bytes int) { return t.messages, t.bytes }

// vector has the counters of several clock domains.
type vector []domain

type domain struct {
	id     uint64
	counts []uint64 // per rank
}

func (v vector) find(id uint64) []uint64 {
	for _, l := range v {
		if l.id == id {
			return l.counts
		}
	}
	return nil
}

func (v vector) clone() vector {
	v = slices.Clone(v)
	for i := range v {
		v[i].counts = slices.Clone(v[i].counts)
	}
	return v
}

func (t *Pasts) keep(v vector) uint64 {
	t.list = append(t.list, v)
	return uint64(len(t.list))
}

func (t *Pasts) at(past uint64) vector {
	if past == 0 {
		return nil
	}
	return t.list[past-1]
}

// Of returns the counters of a new process of this rank.
func (t *Pasts) Of(rank int) sdr.Reference {
	return &counters{Pasts: t, rank: rank, closed: make(map[uint64]bool)}
}

// counters are the counters of one process. It implements sdr.Reference.
type counters struct {
	*Pasts
	rank   int
	known  vector
	closed map[uint64]bool
}

// own returns the counters of a clock domain, which may be new. It returns nil if the
// domain was closed.
func (c *counters) own(id uint64) []uint64 {
	if c.closed[id] {
		return nil
	}
	counts := c.known.find(id)
	if counts == nil {
		counts = make([]uint64, c.ranks)
		c.known = append(c.known, domain{id, counts})
	}
	return counts
}

func (c *counters) Operate(id uint64) {
	if counts := c.own(id); counts != nil {
		counts[c.rank]++
	}
}

func (c *counters) Past() uint64 { return c.keep(c.known.clone()) }

func (c *counters) Merge(a, b uint64) uint64 {
	if b == 0 {
		return a
	}
	into := c.at(a).clone()
	for _, l := range c.at(b) {
		counts := into.find(l.id)
		if counts == nil {
			into = append(into, domain{l.id, slices.Clone(l.counts)})
			continue
		}
		for r, n := range l.counts {
			counts[r] = max(counts[r], n)
		}
	}
	return c.keep(into)
}

func (c *counters) Absorb(past uint64) {
	for _, l := range c.at(past) {
		counts := c.own(l.id)
		if counts == nil {
			continue
		}
		for r, n := range l.counts {
			if r != c.rank {
				counts[r] = max(counts[r], n)
			}
		}
	}
}

func (c *counters) Close(id uint64) {
	c.known = slices.DeleteFunc(c.known, func(l domain) bool { return l.id == id })
	c.closed[id] = true
}

func (c *counters) Reset() {
	c.known = nil
	clear(c.closed)
}

func (c *counters) deliverable(past uint64) bool {
	for _, l := range c.at(past) {
		needs := l.counts[c.rank]
		if needs == 0 || c.closed[l.id] {
			continue
		}
		if counts := c.known.find(l.id); counts == nil || needs > counts[c.rank] {
			return false
		}
	}
	return true
}

func (c *counters) Deliverable(past uint64, deliverable bool) {
	if want := c.deliverable(past); want != deliverable {
		c.differ("a message of past %d %v is deliverable: %v, want %v; known %v", past, c.at(past), deliverable, want, c.known)
	}
	c.compared++
}

func (c *counters) Earlier(past, id uint64, earlier bool) {
	needs, own := uint64(0), uint64(0)
	if counts := c.at(past).find(id); counts != nil {
		needs = counts[c.rank]
	}
	if counts := c.known.find(id); counts != nil {
		own = counts[c.rank]
	}
	if want := needs < own; want != earlier {
		c.differ("a message of past %d %v is from before the last operation of domain %x: %v, want %v; known %v", past, c.at(past), id, earlier, want, c.known)
	}
	c.compared++
}

// Sent checks the bound on the size: four bytes for each rank with replicas in each clock
// domain, and twelve bytes for each domain except the first.
func (c *counters) Sent(past uint64, bytes int) {
	c.messages++
	c.bytes += bytes
	domains := max(len(c.at(past)), 1)
	if limit := 4*c.replicated*domains + 12*(domains-1); bytes > limit {
		c.differ("past %d %v has %d bytes, more than %d", past, c.at(past), bytes, limit)
	}
}

func (c *counters) differ(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("causal past of rank %d: "+format, append([]any{c.rank}, args...)...)
	}
}
