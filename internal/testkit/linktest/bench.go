package linktest

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// target is a Receiver that copies every payload to the same memory, as a program does with
// an array.
type target struct {
	place []byte
	ends  atomic.Int64
	after func()
	done  chan struct{}
}

func newTarget(size int, after func()) *target {
	return &target{place: make([]byte, size), after: after, done: make(chan struct{})}
}

func (t *target) Begin(h *transport.Header) []byte { return t.place }

func (t *target) End(h *transport.Header, payload []byte) {
	if len(payload) > 0 && &payload[0] != &t.place[0] {
		copy(t.place, payload)
	}
	t.ends.Add(1)
	t.after()
}

func (t *target) Torn(*transport.Header, int) {}
func (t *target) Lost(*transport.Header)      {}
func (t *target) Closed(error)                { close(t.done) }

// handed is an Owner that counts its frames.
type handed struct{ n atomic.Int64 }

func (h *handed) Sent(*transport.Frame, error) { h.n.Add(1) }

// ends is a started pair under measurement.
type ends struct {
	a, b   transport.Link
	ra, rb *target
}

func startEnds(b *testing.B, pair Pair, size int, wakeA, wakeB func()) *ends {
	la, lb := pair(b)
	e := &ends{a: la, b: lb, ra: newTarget(size, wakeA), rb: newTarget(size, wakeB)}
	la.Start(e.ra)
	lb.Start(e.rb)
	return e
}

func (e *ends) close(b *testing.B) {
	b.StopTimer()
	require.NoError(b, e.a.Close())
	require.NoError(b, e.b.Close())
	<-e.ra.done
	<-e.rb.done
}

// Benchmark measures links made by pair. Half a round trip of small frames ("ns/half") is
// measured while both sides poll, while both wait with a Poller, and while neither attends.
// The bandwidth is that of a one-way stream.
func Benchmark(b *testing.B, pair Pair) {
	for _, size := range []int{8, 1024} {
		for _, how := range []string{"spin", "poller", "unattended"} {
			b.Run(fmt.Sprintf("half/%s/%d", how, size), func(b *testing.B) { pingPong(b, pair, how, size) })
		}
	}
	for _, size := range []int{64 << 10, 1 << 20, 8 << 20} {
		b.Run(fmt.Sprintf("stream/%dKiB", size>>10), func(b *testing.B) { stream(b, pair, size) })
	}
}

func pingPong(b *testing.B, pair Pair, how string, size int) {
	pa, pb := transport.NewPoller(), transport.NewPoller()
	e := startEnds(b, pair, size, pa.Wake, pb.Wake)
	defer e.close(b)
	pa.Add(e.a)
	pb.Add(e.b)
	wait := func(l transport.Link, p *transport.Poller, cond func() bool) {
		switch how {
		case "spin":
			for !cond() {
				l.Progress()
			}
		case "poller":
			p.Wait(b.Context(), cond)
		case "unattended":
			for !cond() {
				runtime.Gosched()
			}
		}
	}
	if how == "spin" {
		e.a.Attend(true)
		e.b.Attend(true)
	}
	n := int64(b.N)
	newFrame := func() *transport.Frame {
		return &transport.Frame{
			Header:  transport.Header{Channel: transport.ChannelMessage},
			Payload: [][]byte{make([]byte, size)}, Owner: &handed{},
		}
	}
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	start := time.Now()
	wg.Go(func() {
		f, i := newFrame(), int64(0)
		due := func() bool { return e.rb.ends.Load() > i }
		back := func() bool { return f.Owner.(*handed).n.Load() > i }
		for ; i < n; i++ {
			wait(e.b, pb, due)
			e.b.Send(f)
			wait(e.b, pb, back)
		}
	})
	f, i := newFrame(), int64(0)
	due := func() bool { return e.ra.ends.Load() > i }
	back := func() bool { return f.Owner.(*handed).n.Load() > i }
	for ; i < n; i++ {
		e.a.Send(f)
		wait(e.a, pa, back)
		wait(e.a, pa, due)
	}
	wg.Wait()
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(2*n), "ns/half")
	b.ReportMetric(0, "ns/op")
}

// stream sends from eight buffers in turn, with at most eight frames under way.
func stream(b *testing.B, pair Pair, size int) {
	const buffers = 8
	e := startEnds(b, pair, size, func() {}, func() {})
	defer e.close(b)
	e.a.Attend(true)
	e.b.Attend(true)
	owner := &handed{}
	var frames [buffers]*transport.Frame
	for i := range frames {
		frames[i] = &transport.Frame{
			Header:  transport.Header{Channel: transport.ChannelSection},
			Payload: [][]byte{make([]byte, size)}, Owner: owner,
		}
		fill(frames[i].Payload[0], uint64(i))
	}
	n := int64(b.N)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	wg.Go(func() {
		for e.rb.ends.Load() < n {
			e.b.Progress()
		}
	})
	for i := range n {
		for owner.n.Load() <= i-buffers {
			e.a.Progress()
		}
		e.a.Send(frames[i%buffers])
	}
	for owner.n.Load() < n {
		e.a.Progress()
	}
	wg.Wait()
	b.StopTimer()
	require.Equal(b, -1, check(e.rb.place, uint64((n-1)%buffers)), "the last frame arrived unchanged")
}
