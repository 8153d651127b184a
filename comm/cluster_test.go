package comm_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/transport/shm"
	"github.com/intrahpc/intra/transport/tcp"
)

var zeroLimits sdr.Limits

// pairOf makes the two ends of a link of each kind.
var pairOf = map[string]func(t testing.TB) (a, b transport.Link){
	"inproc": func(testing.TB) (a, b transport.Link) { return inproc.Pair() },
	"unix": func(t testing.TB) (a, b transport.Link) {
		x, y, err := tcp.PairUnix()
		require.NoError(t, err)
		open := func(f *os.File) transport.Link {
			conn, err := net.FileConn(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			return tcp.New(conn)
		}
		return open(x), open(y)
	},
	"tcp": func(t testing.TB) (a, b transport.Link) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		dialled := make(chan net.Conn, 1)
		go func() {
			c, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Error(err)
			}
			dialled <- c
		}()
		c, err := listener.Accept()
		require.NoError(t, err)
		return tcp.New(c), tcp.New(<-dialled)
	},
	"shm": func(t testing.TB) (a, b transport.Link) {
		s, err := shm.Create(1 << 20)
		require.NoError(t, err)
		defer s.File().Close()
		a, err = shm.Open(s.File(), 0)
		require.NoError(t, err)
		b, err = shm.Open(s.File(), 1)
		require.NoError(t, err)
		return a, b
	},
}

// cluster is a job of goroutines over real links, with a head that announces
// deaths.
type cluster struct {
	t       testing.TB
	degrees []int
	members []*member
	ctx     context.Context
	end     context.CancelCauseFunc
	mu      sync.Mutex
	deaths  []*member // in the order of the verdicts
}

type member struct {
	rank, replica int
	cluster       *cluster
	engine        *sdr.Engine
	poller        *transport.Poller
	links         map[*member]transport.Link
	ended         map[*member]chan struct{} // closed when the link from that member is read to its end
	killed        chan struct{}
	messages      int
	killAt        int
	verdicts      chan *member
}

// watch passes frames to the engine, and records the end of the link.
type watch struct {
	transport.Receiver
	ended chan struct{}
}

func (w watch) Closed(err error) {
	w.Receiver.Closed(err)
	close(w.ended)
}

func newCluster(t testing.TB, kind string, degrees []int, mirror bool, limits sdr.Limits) *cluster {
	return clusterOf(t, kind, degrees, mirror, limits, true)
}

// clusterOf makes a cluster. mortal selects whether its members can be killed inside a
// message.
func clusterOf(t testing.TB, kind string, degrees []int, mirror bool, limits sdr.Limits, mortal bool) *cluster {
	c := &cluster{t: t, degrees: degrees}
	c.ctx, c.end = context.WithCancelCause(t.Context())
	for rank, d := range degrees {
		for k := range d {
			m := &member{rank: rank, replica: k, cluster: c, poller: transport.NewPoller(), killAt: -1,
				links: make(map[*member]transport.Link), ended: make(map[*member]chan struct{}), killed: make(chan struct{}), verdicts: make(chan *member, 64)}
			cfg := sdr.Config{
				Rank: rank, Replica: k, Degrees: degrees, Poller: m.poller, Context: c.ctx, Mirror: mirror, Limits: limits, Ordered: true,
				Link: func(rank, replica int) transport.Link { return m.links[c.find(rank, replica)] },
			}
			if mortal {
				cfg.Mid = m.mid
			}
			m.engine = sdr.NewEngine(cfg)
			c.members = append(c.members, m)
		}
	}
	for i, a := range c.members {
		for _, b := range c.members[:i] {
			la, lb := pairOf[kind](t)
			a.connect(b, la)
			b.connect(a, lb)
		}
	}
	for _, m := range c.members { // when all links exist, because a process may answer a message over any of them
		for peer, l := range m.links {
			l.Start(watch{m.engine.Receiver(peer.rank, peer.replica), m.ended[peer]})
			m.poller.Add(l)
		}
	}
	return c
}

func (c *cluster) find(rank, replica int) *member {
	for _, m := range c.members {
		if m.rank == rank && m.replica == replica {
			return m
		}
	}
	return nil
}

func (m *member) connect(peer *member, l transport.Link) {
	m.links[peer], m.ended[peer] = l, make(chan struct{})
}

// mid kills the process inside its killAt-th message.
func (m *member) mid() func() bool {
	n := m.messages
	m.messages++
	if n != m.killAt {
		return nil
	}
	return func() bool {
		go m.die()
		<-m.killed
		return false
	}
}

// die closes all links of a process. Then it announces the death to all other processes. All of
// them receive the deaths in the same order.
func (m *member) die() {
	c := m.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaths = append(c.deaths, m)
	close(m.killed)
	for _, l := range m.links {
		l.Close()
	}
	for _, p := range c.members {
		if p != m {
			p.verdicts <- m
		}
	}
}

// follow reports each death to the engine with which the process began, after the link of the dead
// process has ended.
func (m *member) follow(e *sdr.Engine, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-m.killed:
			return
		case dead := <-m.verdicts:
			m.links[dead].PeerDied()
			<-m.ended[dead]
			e.Dead(dead.rank, dead.replica)
		}
	}
}

// run runs the program in every process and returns the errors. The error of a killed
// process is nil.
func (c *cluster) run(program func(w *comm.Comm, m *member) error) error {
	var all, released sync.WaitGroup
	stop := make(chan struct{})
	errs := make(chan error, len(c.members))
	var followers sync.WaitGroup
	for _, m := range c.members {
		first := m.engine // the program may get another one, see TestRunsAgainOverLinks
		followers.Go(func() { m.follow(first, stop) })
		released.Add(1)
		all.Go(func() {
			done := make(chan error, 1)
			go func() {
				w, err := comm.World(m.engine)
				if err == nil {
					err = program(w, m)
				}
				if err == nil {
					err = m.engine.Drained(c.ctx)
				}
				done <- err
			}()
			select {
			case err := <-done:
				if err != nil {
					errs <- fmt.Errorf("%d.%d: %w", m.rank, m.replica, err)
					c.end(err)
				}
			case <-m.killed:
			}
			released.Done()
		})
	}
	released.Wait()
	close(stop)
	followers.Wait()
	c.end(fmt.Errorf("the test is over"))
	for _, m := range c.members {
		for _, l := range m.links {
			l.Close()
		}
	}
	all.Wait()
	close(errs)
	return <-errs
}

// TestConformanceOverLinks runs the suite over real links, replicated and not.
func TestConformanceOverLinks(t *testing.T) {
	sizes := []int{0, 3, 20_000}
	if testing.Short() { // too slow under the race detector
		sizes = []int{3, 2000}
	}
	for kind := range pairOf {
		for _, degrees := range [][]int{{1, 1, 1}, {2, 1, 2}} {
			t.Run(fmt.Sprint(kind, degrees), func(t *testing.T) {
				c := clusterOf(t, kind, degrees, false, sdr.Limits{}, false)
				require.NoError(t, c.run(func(w *comm.Comm, _ *member) error {
					return suite(w, sizes)
				}))
			})
		}
	}
}

// TestKillsOverLinks runs random programs over real links. One replica dies inside one of
// its messages.
func TestKillsOverLinks(t *testing.T) {
	for kind := range pairOf {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(kind, seed), func(t *testing.T) {
				results := func(degrees []int, victim int) []uint64 {
					c := newCluster(t, kind, degrees, false, sdr.Limits{Eager: 512, Window: 4000, Retain: 4000})
					if victim >= 0 {
						c.members[victim].killAt = int(seed)
					}
					var mu sync.Mutex
					sums := make([]uint64, len(degrees))
					require.NoError(t, c.run(func(w *comm.Comm, m *member) error {
						sum, err := commtest.Run(w, seed, 12)
						if err != nil { // the process was killed, or its program failed
							return err
						}
						mu.Lock()
						defer mu.Unlock()
						if sums[m.rank] != 0 && sums[m.rank] != sum {
							return fmt.Errorf("replicas of rank %d differ", m.rank)
						}
						sums[m.rank] = sum
						return nil
					}))
					if victim >= 0 {
						require.Len(t, c.deaths, 1)
					}
					return sums
				}
				want := results([]int{1, 1, 1}, -1)
				require.Equal(t, want, results([]int{2, 1, 2}, 0))
				require.Equal(t, want, results([]int{2, 2, 2}, 3))
			})
		}
	}
}
