package detect

import (
	"container/heap"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// net is a group of hosts that all watch each other by beats with echoes, in
// simulated time, and one judge on host 0.
type net struct {
	rng      *rand.Rand
	late     []point // distribution of the delays of hosts
	loss     float64
	cut      map[[2]int]bool
	hosts    []*host
	now      time.Duration
	queue    events
	count    int
	declared map[ID]time.Duration
}

type host struct {
	id         ID
	observer   *Observer
	seq        uint64
	received   []uint64 // by sender: the highest beat received
	echoed     []uint64 // by host: the highest beat of this host that it has echoed
	reports    [][]Sighting
	reportedAt []time.Duration
	inbox      []func()
	stall      time.Duration
	dead       bool
}

// point is a quantile of a distribution.
type point struct {
	quantile float64
	late     time.Duration
}

// Measured on a machine with two cores at nice 0, idle and with eight spinning processes:
// how late a sleep of 20 ms ended (1365 sleeps, the longest 100 ms late). Round trips over
// UDP between two processes there: p99 7 ms, the longest 88 ms. Tails beyond the
// measurements are assumed, and heavier.
var (
	quiet = []point{{0, 100 * us}, {0.5, 270 * us}, {0.9, 360 * us}, {0.99, 490 * us}, {1, 10 * ms}}
	busy  = []point{{0, 50 * us}, {0.5, 190 * us}, {0.9, 3600 * us}, {0.99, 17 * ms}, {0.999, 79 * ms}, {0.9999, 200 * ms}, {1, 500 * ms}}
)

const us = time.Microsecond

func draw(rng *rand.Rand, d []point) time.Duration {
	u, i := rng.Float64(), 1
	for u > d[i].quantile {
		i++
	}
	a, b := d[i-1], d[i]
	return a.late + time.Duration(float64(b.late-a.late)*(u-a.quantile)/(b.quantile-a.quantile))
}

type event struct {
	at time.Duration
	n  int
	f  func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func newNet(seed uint64, size int, late []point) *net {
	n := &net{rng: rand.New(rand.NewPCG(seed, 3)), late: late, cut: make(map[[2]int]bool), declared: make(map[ID]time.Duration)}
	for i := range size {
		h := &host{id: ID(i), observer: NewObserver(DefaultConfig, 0), received: make([]uint64, size), echoed: make([]uint64, size),
			reports: make([][]Sighting, size), reportedAt: make([]time.Duration, size)}
		for j := range size {
			if j != i {
				h.observer.Watch(ID(j), 0)
			}
		}
		n.hosts = append(n.hosts, h)
		n.at(time.Duration(n.rng.Int64N(int64(50*ms))), func() { n.beat(i) })
	}
	return n
}

func (n *net) at(t time.Duration, f func()) {
	n.count++
	heap.Push(&n.queue, event{t, n.count, f})
}

func (n *net) run(until time.Duration) {
	for len(n.queue) > 0 && n.queue[0].at <= until {
		e := heap.Pop(&n.queue).(event)
		n.now = e.at
		e.f()
	}
	n.now = until
}

func (n *net) beat(i int) {
	h := n.hosts[i]
	if h.dead {
		return
	}
	if n.now < h.stall {
		n.at(h.stall, func() { n.beat(i) })
		return
	}
	n.read(h)
	h.observer.Wake(n.now)
	h.seq++
	var seen []Sighting
	for j := range n.hosts {
		if s, ok := h.observer.Sighting(ID(j), n.now); ok && i != 0 {
			seen = append(seen, s)
		}
	}
	for j, to := range n.hosts {
		if j == i || n.rng.Float64() < n.loss {
			continue
		}
		seq, echo := h.seq, h.received[j]
		n.at(n.now+50*us+time.Duration(n.rng.Int64N(int64(ms))), func() {
			if n.cut[[2]int{i, j}] || to.dead {
				return
			}
			to.inbox = append(to.inbox, func() {
				to.received[i] = max(to.received[i], seq)
				if echo > to.echoed[i] {
					to.echoed[i] = echo
					to.observer.Contact(ID(i), n.now)
				}
				to.reports[i], to.reportedAt[i] = seen, n.now
			})
			if n.now >= to.stall {
				n.read(to)
			}
		})
	}
	if i == 0 {
		n.judge(h)
	}
	late := draw(n.rng, n.late)
	n.at(n.now+DefaultConfig.Interval, func() { h.stall = max(h.stall, n.now+late) })
	n.at(n.now+DefaultConfig.Interval+late, func() { n.beat(i) })
}

func (n *net) read(h *host) {
	inbox := h.inbox
	h.inbox = nil
	for _, f := range inbox {
		f()
	}
}

func (n *net) judge(h *host) {
	for j := range n.hosts[1:] {
		id := ID(j + 1)
		own, _ := h.observer.Sighting(id, n.now)
		if _, done := n.declared[id]; done || !own.Suspect() {
			continue
		}
		var others []Testimony
		missing := 0
		for k := range n.hosts {
			s, watched := h.observer.Sighting(ID(k), n.now)
			if ID(k) == id || !watched || s.Suspect() {
				continue
			}
			if n.now-h.reportedAt[k] > 4*DefaultConfig.Interval {
				missing++
				continue
			}
			for _, s := range h.reports[k] {
				if s.Host == id {
					others = append(others, Testimony{ID(k), s})
				}
			}
		}
		if _, lost := Judge(Testimony{0, own}, others, missing); lost {
			n.declared[id] = n.now
		}
	}
}

func hours(t *testing.T) time.Duration {
	s := os.Getenv("INTRA_HOURS")
	if s == "" {
		return 20 * time.Minute
	}
	h, err := strconv.ParseUint(s, 10, 16)
	require.NoError(t, err, "INTRA_HOURS")
	return time.Duration(h) * time.Hour
}

// TestNoFalseVerdict requires that no host is declared lost because of busy machines, lost
// beats, pauses of up to half a second, or a link that is dead or works in only one
// direction. INTRA_HOURS is the number of simulated hours.
func TestNoFalseVerdict(t *testing.T) {
	for _, c := range []struct {
		name string
		late []point
		loss float64
		cuts [][2]int
	}{
		{"busy", busy, 0, nil},
		{"busy, one beat in ten is lost", busy, 0.1, nil},
		{"a link carries one direction only", busy, 0.01, [][2]int{{2, 0}}},
		{"a link carries the other direction only", busy, 0.01, [][2]int{{0, 2}}},
		{"a link is dead", busy, 0.01, [][2]int{{0, 2}, {2, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNet(1, 4, c.late)
			n.loss = c.loss
			end := hours(t) / 5
			for _, l := range c.cuts {
				n.at(10*time.Second, func() { n.cut[l] = true })
			}
			for at := 5 * time.Second; at < end; at += time.Duration(n.rng.Int64N(int64(30 * time.Second))) {
				h := n.hosts[n.rng.IntN(len(n.hosts))]
				pause := time.Duration(n.rng.Int64N(int64(500 * ms)))
				n.at(at, func() { h.stall = max(h.stall, n.now+pause) })
			}
			n.run(end)
			require.Empty(t, n.declared)
		})
	}
}

// TestLossIsFound requires that every host that is lost, or reachable in only one
// direction, is detected. If machines are not late, it is detected in time.
func TestLossIsFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  []point
		limit time.Duration
		lose  func(n *net, i int)
	}{
		{"quiet", quiet, 850 * ms, func(n *net, i int) { n.hosts[i].dead = true }},
		{"mute", quiet, 950 * ms, func(n *net, i int) {
			for j := range n.hosts {
				n.cut[[2]int{i, j}] = true
			}
		}},
		{"deaf", quiet, 950 * ms, func(n *net, i int) {
			for j := range n.hosts {
				n.cut[[2]int{j, i}] = true
			}
		}},
		{"busy", busy, 3 * time.Second, func(n *net, i int) { n.hosts[i].dead = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var longest time.Duration
			for seed := range uint64(200) {
				n := newNet(seed, 4, c.late)
				at := 5*time.Second + time.Duration(n.rng.Int64N(int64(time.Second)))
				i := 1 + n.rng.IntN(3)
				n.at(at, func() { c.lose(n, i) })
				n.run(at + 2*c.limit)
				require.Contains(t, n.declared, ID(i), "seed %d", seed)
				require.Len(t, n.declared, 1, "seed %d", seed)
				longest = max(longest, n.declared[ID(i)]-at)
			}
			t.Logf("the longest took %v", longest)
			require.Less(t, longest, c.limit)
		})
	}
}

// TestChecksBite requires that a detector without patience, or one that consults no other
// observers, fails the tests above.
func TestChecksBite(t *testing.T) {
	n := newNet(1, 4, busy)
	for _, h := range n.hosts {
		h.observer.config.Floor, h.observer.config.Spread = 120*ms, 0
	}
	n.run(10 * time.Minute)
	require.NotEmpty(t, n.declared, "without patience")

	n = newNet(1, 4, busy)
	n.at(10*time.Second, func() { n.cut[[2]int{2, 0}] = true })
	for i, h := range n.hosts {
		if i > 0 { // the other observers repeat the verdict of the judge
			h.observer.config.Floor, h.observer.config.Spread = 0, 0
		}
	}
	n.run(time.Minute)
	require.Contains(t, n.declared, ID(2), "without other observers")
}
