package sdr

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRestOfDomains: processes with many clock domains have the same knowledge of all of
// them. Their receives from any source match the same messages, whether they decoded the
// part about idle domains or recognised it.
func TestRestOfDomains(t *testing.T) {
	const domains = 30
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 7))
		n := newNet(t, Limits{}, 2, 2, 2)
		ctxs := make([][]*Context, domains)
		for i := range ctxs {
			for _, c := range n.cores {
				ctx, err := c.Join(uint64(1000+i), uint64(1000+i), false, nil)
				require.NoError(t, err)
				ctxs[i] = append(ctxs[i], ctx)
			}
		}
		known, fresh := 0, 0
		for range 400 {
			at := ctxs[random.IntN(domains)]
			if random.IntN(4) > 0 {
				at = n.ctxs // most domains are idle
			}
			from, to := random.IntN(3), random.IntN(3)
			if from == to {
				continue
			}
			ctxBefore := n.ctxs
			n.ctxs = at
			var reqs []*pendingRecv
			for k := range 2 {
				n.send(n.p(from, k), "m", to, 0)
			}
			for k := range 2 {
				p, q := n.p(from, k), n.p(to, k)
				before := n.cores[q].history.rests[p]
				n.deliverAll()
				if after := n.cores[q].history.rests[p]; after != nil && after == before {
					known++
				} else if after != nil {
					fresh++
				}
				source := from
				if random.IntN(2) == 0 {
					source = Any
				}
				reqs = append(reqs, n.recv(q, source, 0))
			}
			for k, r := range reqs {
				require.True(t, r.Done(), "both replicas have begun all operations on which the message depends")
				n.see(n.p(to, k), r)
			}
			n.ctxs = ctxBefore
			n.deliverAll()
			p := n.p(random.IntN(3), random.IntN(2))
			c := n.cores[p]
			past := c.history.causalPast(c.history.domains[random.IntN(len(c.history.domains))], 0)
			if past == nil {
				continue
			}
			// The cached list equals a new one.
			again := append([]byte(nil), past.list...)
			c.history.changes++
			other := c.history.causalPast(c.history.findDomain(past.domain), 0)
			require.Equal(t, again, other.list)
		}
		require.Greater(t, known, 10)
		require.Greater(t, fresh, 10)
		for _, c := range n.cores { // all messages were seen, so the replicas have the same knowledge
			peer := n.cores[n.p(c.job.rank, 1-c.job.replica)]
			for _, l := range c.history.domains {
				require.Equal(t, l.own, peer.history.findDomain(l.id).own)
				require.ElementsMatch(t, l.known.above, peer.history.findDomain(l.id).known.above)
			}
		}
	}
}

// TestRestIsChecked: a list that is known only in part does not count as known.
func TestRestIsChecked(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	c := n.cores[n.p(1, 0)]
	var list []byte
	for id := range uint64(20) {
		list = appendEntry(appendDomain(list, 1000+id, 0), 0, -1, entry{0, clock{count: 1}})
	}
	from := n.p(0, 0)
	incoming := func(list []byte) *past {
		return &past{domain: testContext, list: append([]byte(nil), list...)}
	}
	one := incoming(list)
	require.True(t, c.history.scanFrom(from, one))
	require.NotNil(t, one.rest)
	two := incoming(list)
	require.True(t, c.history.scanFrom(from, two))
	require.True(t, two.rest == one.rest)
	require.False(t, two.rest.absorbed(c.history.age))
	c.history.learn(two)
	require.True(t, one.rest.absorbed(c.history.age) && one.rest.begun(c.history.age))
	require.Equal(t, clock{count: 1}, c.history.findDomain(1019).known.at(0))

	// The message's own domain requires more, and this replica has not begun it.
	own := appendEntry(nil, 0, -1, entry{1, clock{count: 9}})
	three := incoming(append(own, list...))
	require.True(t, c.history.scanFrom(from, three))
	require.True(t, three.rest == one.rest)
	require.False(t, c.history.begun(three))
	// A list with a further domain requires more, too.
	list = appendEntry(appendDomain(list, 2000, 0), 0, -1, entry{1, clock{count: 1}})
	four := incoming(list)
	require.True(t, c.history.scanFrom(from, four))
	require.True(t, four.rest != one.rest && !four.rest.begun(c.history.age))
	require.False(t, c.history.begun(four))
	require.False(t, four.rest.begun(c.history.age), "a failed check records nothing")
	// A list that no process of this version writes is refused each time.
	bad := append(append([]byte(nil), list...), 0, 1)
	require.False(t, c.history.scanFrom(from, incoming(bad)))
	require.False(t, c.history.scanFrom(from, incoming(bad)))
	// A reset of the domains forgets the known list.
	c.history.reset()
	require.False(t, one.rest.absorbed(c.history.age) || one.rest.begun(c.history.age))
}
