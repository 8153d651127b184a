package comm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/transport/sdr"
)

// BenchmarkPingPong measures half a round trip of one byte between two ranks over shared
// memory while both poll. Its ns/best is the time of the best batch, the only meaningful
// figure on a busy machine.
func BenchmarkPingPong(b *testing.B) {
	const batch = 200
	cluster := clusterOf(b, "shm", []int{1, 1}, false, sdr.Limits{}, false)
	best := time.Hour
	require.NoError(b, cluster.run(func(c *comm.Comm, _ *member) error {
		buf := make([]byte, 1)
		for done := 0; done < b.N; done += batch {
			start := time.Now()
			for range batch {
				if c.Rank() == 0 {
					if err := comm.Send(c, buf, 1, 0); err != nil {
						return err
					}
				}
				if _, err := comm.Recv(c, buf, 1-c.Rank(), 0); err != nil {
					return err
				}
				if c.Rank() == 1 {
					if err := comm.Send(c, buf, 0, 0); err != nil {
						return err
					}
				}
			}
			if c.Rank() == 0 {
				best = min(best, time.Since(start))
			}
		}
		return nil
	}))
	b.ReportMetric(float64(best.Nanoseconds())/(2*batch), "ns/best")
}

// BenchmarkAlone measures a message of one byte from rank 0 to rank 1 and one back over
// shared memory. One goroutine runs both ranks, so the result is the cost of a message
// without waits.
func BenchmarkAlone(b *testing.B) {
	worlds := aloneWorlds(b)
	buf := make([]byte, 1)
	b.ReportAllocs()
	for b.Loop() {
		for rank, w := range worlds {
			if err := comm.Send(w, buf, 1-rank, 0); err != nil {
				b.Fatal(err)
			}
			if _, err := comm.Recv(worlds[1-rank], buf, rank, 0); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(2*b.N), "ns/message")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAloneAllreduce measures the sum of one number over two ranks in one goroutine,
// as BenchmarkAlone does. One of the ranks uses a non-blocking call. The result is the cost
// for both ranks together.
func BenchmarkAloneAllreduce(b *testing.B) {
	worlds := aloneWorlds(b)
	x, y := make([]float64, 1), make([]float64, 1)
	b.ReportAllocs()
	for b.Loop() {
		r := comm.Iallreduce(worlds[0], nil, x, comm.Sum)
		if err := comm.Allreduce(worlds[1], nil, y, comm.Sum); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

// aloneWorlds returns two ranks that one goroutine drives.
func aloneWorlds(b *testing.B) (worlds []*comm.Comm) {
	for _, m := range clusterOf(b, "shm", []int{1, 1}, false, sdr.Limits{}, false).members {
		m.poller.Attend(true)
		w, err := comm.World(m.engine)
		require.NoError(b, err)
		worlds = append(worlds, w)
	}
	return worlds
}

// BenchmarkAllreduce measures the sum of one number over two ranks that poll, as
// BenchmarkPingPong does.
func BenchmarkAllreduce(b *testing.B) {
	for _, degrees := range [][]int{{1, 1}, {1, 1, 1, 1}} {
		b.Run(fmt.Sprint(degrees), func(b *testing.B) {
			const batch = 200
			cluster := clusterOf(b, "shm", degrees, false, sdr.Limits{}, false)
			best := time.Hour
			b.ReportAllocs()
			require.NoError(b, cluster.run(func(c *comm.Comm, _ *member) error {
				x := make([]float64, 1)
				for done := 0; done < b.N; done += batch {
					start := time.Now()
					for range batch {
						if err := comm.Allreduce(c, nil, x, comm.Sum); err != nil {
							return err
						}
					}
					if c.Rank() == 0 {
						best = min(best, time.Since(start))
					}
				}
				return nil
			}))
			b.ReportMetric(float64(best.Nanoseconds())/batch, "ns/best")
		})
	}
}

// BenchmarkAnySource measures a round trip of a message of one number, received from any
// source. It compares ranks without replicas, pairs of replicas that agree on the message,
// and pairs that assert that they need no agreement.
func BenchmarkAnySource(b *testing.B) {
	for _, kind := range []string{"shm", "tcp"} {
		for _, way := range []struct {
			name    string
			degrees []int
			asserts bool
		}{{"alone", []int{1, 1}, false}, {"asserted", []int{2, 2}, true}, {"decided", []int{2, 2}, false}} {
			b.Run(kind+"/"+way.name, func(b *testing.B) {
				cluster := clusterOf(b, kind, way.degrees, false, sdr.Limits{}, false)
				require.NoError(b, cluster.run(func(c *comm.Comm, _ *member) error {
					if way.asserts {
						if err := c.AssertSendDeterministic(); err != nil {
							return err
						}
					}
					x := make([]float64, 1)
					for range b.N {
						if c.Rank() == 0 {
							if err := comm.Send(c, x, 1, 0); err != nil {
								return err
							}
						}
						if _, err := comm.Recv(c, x, comm.AnySource, 0); err != nil {
							return err
						}
						if c.Rank() == 1 {
							if err := comm.Send(c, x, 0, 0); err != nil {
								return err
							}
						}
					}
					return nil
				}))
			})
		}
	}
}

// BenchmarkFlood measures a message of one number to a rank that receives only after the
// sender has sent more messages than the rank has room for.
func BenchmarkFlood(b *testing.B) {
	for _, degrees := range [][]int{{1, 1}, {2, 2}} {
		b.Run(fmt.Sprint(degrees), func(b *testing.B) {
			const batch = 50000
			cluster := clusterOf(b, "shm", degrees, false, sdr.Limits{}, false)
			require.NoError(b, cluster.run(func(c *comm.Comm, _ *member) error {
				x := make([]float64, 1)
				for done := 0; done < b.N; done += batch {
					for range batch {
						if err := comm.Bcast(c, x, 0); err != nil {
							return err
						}
					}
					if err := c.Barrier(); err != nil {
						return err
					}
				}
				return nil
			}))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64((b.N+batch-1)/batch*batch), "ns/message")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkOrders measures the cost of a message of one number, among many such messages. The
// receives are posted in the order of the sends, in the reverse order, or only when all messages
// have arrived.
func BenchmarkOrders(b *testing.B) {
	const many = 20000
	for _, order := range []struct {
		name  string
		tag   func(i int) int
		after bool
	}{
		{"same", func(i int) int { return i }, false},
		{"reversed", func(i int) int { return many - 1 - i }, false},
		{"unexpected", func(i int) int { return i }, true},
		{"unexpected reversed", func(i int) int { return many - 1 - i }, true},
	} {
		b.Run(order.name, func(b *testing.B) {
			cluster := clusterOf(b, "shm", []int{1, 1}, false, sdr.Limits{}, false)
			require.NoError(b, cluster.run(func(c *comm.Comm, _ *member) error {
				x := make([]float64, many)
				reqs := make([]*comm.Request, many)
				start := time.Now()
				for range b.N {
					for _, now := range []bool{order.after, !order.after} {
						for i := range many {
							switch {
							case c.Rank() == 0 && now:
								if err := comm.Send(c, x[i:i+1], 1, i); err != nil {
									return err
								}
							case c.Rank() == 1 && !now:
								reqs[i] = comm.Irecv(c, x[i:i+1], 0, order.tag(i))
							}
						}
						if err := c.Barrier(); err != nil {
							return err
						}
					}
					if err := comm.WaitAll(reqs...); err != nil {
						return err
					}
				}
				if c.Rank() == 1 {
					b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(many*b.N), "ns/message")
					b.ReportMetric(0, "ns/op")
				}
				return nil
			}))
		})
	}
}

// BenchmarkCommunicators measures a message from one rank to another while there are a
// number of other communicators that have each carried a message.
func BenchmarkCommunicators(b *testing.B) {
	for _, degrees := range [][]int{{1, 1}, {2, 2}} {
		for _, many := range []int{0, 100, 2000} {
			b.Run(fmt.Sprint(degrees, "/", many), func(b *testing.B) {
				cluster := clusterOf(b, "shm", degrees, false, sdr.Limits{}, false)
				require.NoError(b, cluster.run(func(c *comm.Comm, _ *member) error {
					x := make([]float64, 1)
					for range many {
						d, err := c.Dup()
						if err != nil {
							return err
						}
						if _, err := comm.Sendrecv(d, x, 1-c.Rank(), 0, make([]float64, 1), 1-c.Rank(), 0); err != nil {
							return err
						}
					}
					if err := c.Barrier(); err != nil {
						return err
					}
					start := time.Now()
					const batch = 1000
					for done := 0; done < b.N; done += batch {
						for range batch {
							if c.Rank() == 0 {
								if err := comm.Send(c, x, 1, 0); err != nil {
									return err
								}
							} else if _, err := comm.Recv(c, x, 0, 0); err != nil {
								return err
							}
						}
					}
					if err := c.Barrier(); err != nil {
						return err
					}
					if c.Rank() == 0 {
						b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64((b.N+batch-1)/batch*batch), "ns/message")
						b.ReportMetric(0, "ns/op")
					}
					return nil
				}))
			})
		}
	}
}
