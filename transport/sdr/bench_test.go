package sdr

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/intrahpc/intra/transport"
)

// direct is a link that delivers within Send.
type direct struct {
	transport.Link
	to      transport.Receiver
	payload []byte
}

func (d *direct) Send(f *transport.Frame) {
	d.payload = d.payload[:0]
	for _, p := range f.Payload {
		d.payload = append(d.payload, p...)
	}
	f.Header.Size = uint64(len(d.payload))
	d.to.End(&f.Header, d.payload)
	f.Owner.Sent(f, nil)
}

// never is a Waiter for conditions that never need a wait.
type never struct{}

func (never) Wait(context.Context, func() bool) error { return context.DeadlineExceeded }
func (never) Wake()                                   {}

// BenchmarkMessage measures the work of the protocol for one message from rank 0 to rank 1,
// without links. The work includes both ends and all replicas.
func BenchmarkMessage(b *testing.B) {
	benchmarkMessage(b, (*Engine).NewBlockingCall)
}

// BenchmarkNonblocking measures a message whose requests the program waits for later.
func BenchmarkNonblocking(b *testing.B) { benchmarkMessage(b, (*Engine).NewCall) }

func benchmarkMessage(b *testing.B, request func(*Engine) *Call) {
	for _, job := range []struct {
		name    string
		degrees []int
	}{{"[1 1]", []int{1, 1}}, {"[2 1]", []int{2, 1}}, {"[2 2]", []int{2, 2}}, {"128 ranks", slices.Repeat([]int{2}, 128)}, {"1024 ranks", slices.Repeat([]int{2}, 1024)}} {
		degrees := job.degrees
		for _, size := range []int{1, 1024, 64 << 10} {
			b.Run(fmt.Sprint(job.name, "/", size), func(b *testing.B) {
				var engines []*Engine
				var contexts []*Context
				index := func(rank, replica int) int { return rank*degrees[0] + replica }
				for rank, d := range degrees[:2] {
					for k := range d {
						e := NewEngine(Config{Rank: rank, Replica: k, Degrees: degrees, Context: context.Background(), Poller: never{},
							Link: func(r, c int) transport.Link {
								return &direct{to: engines[index(r, c)].Receiver(rank, k)}
							}})
						engines = append(engines, e)
						ctx, err := e.Join(1, 1, false, nil)
						if err != nil {
							b.Fatal(err)
						}
						contexts = append(contexts, ctx)
					}
				}
				data, room := make([]byte, size), make([]byte, size)
				calls := make([]*Call, len(engines))
				for i, e := range engines {
					calls[i] = request(e)
				}
				b.ReportAllocs()
				for b.Loop() {
					for i, e := range engines {
						calls[i].Reset()
						if e.Rank() == 0 {
							e.Send(contexts[i], &calls[i].Request, data, 1, 0, false)
						}
					}
					for i, e := range engines {
						if e.Rank() == 1 {
							e.Recv(contexts[i], &calls[i].Request, room, 0, 0)
						}
					}
					for i, e := range engines {
						if _, err := e.Wait(calls[i]); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(engines)), "ns/process")
			})
		}
	}
}
