package shm

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intrahpc/intra/transport"
)

type cnt struct {
	n atomic.Int64
	p *transport.Poller
}

func (c *cnt) Begin(*transport.Header) []byte    { return nil }
func (c *cnt) End(h *transport.Header, p []byte) {
	c.n.Add(1)
	if c.p != nil {
		c.p.Wake()
	}
}
func (c *cnt) Torn(*transport.Header, int)       {}
func (c *cnt) Closed(error)                      {}

func state(name string, l *link) string {
	return fmt.Sprintf("%s: own=%#x peer=%#x busy=%v queue=%d attended=%d | out pos=%d tail=%d head=%d need=%x | in pos=%d tail=%d head=%d\n", name,
		l.own.word.Load(), l.peer.word.Load(), l.busy.Load(), l.queue.Len(), l.attended,
		l.out.pos, l.out.tail.Load(), l.out.head.Load(), l.out.need.Load(), l.in.pos, l.in.tail.Load(), l.in.head.Load())
}

func TestZZHang(t *testing.T) {
	s, _ := Create(4096)
	x, _ := OpenWithoutNet(s.File(), 0)
	y, _ := OpenWithoutNet(s.File(), 1)
	a, b := x.(*link), y.(*link)
	ca, cb := new(cnt), new(cnt)
	a.Start(ca)
	b.Start(cb)
	for n := int64(1); n <= 20000; n++ {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { a.Send(&transport.Frame{Header: transport.Header{Channel: 1}}) })
			wg.Go(func() { b.Send(&transport.Frame{Header: transport.Header{Channel: 1}}) })
		}
		wg.Wait()
		for end := time.Now().Add(5 * time.Second); ca.n.Load() < 3*n || cb.n.Load() < 3*n; time.Sleep(100 * time.Microsecond) {
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				st := string(buf[:runtime.Stack(buf, true)])
				for _, g := range strings.Split(st, "\n\n") {
					if strings.Contains(g, "shm.") {
						t.Log(g)
					}
				}
				t.Fatalf("round %d: a has %d, b has %d\n%s%s", n, ca.n.Load(), cb.n.Load(), state("a", a), state("b", b))
			}
		}
	}
	a.Close()
	b.Close()
}

func TestZZPoller(t *testing.T) {
	for rep := range 60 {
		s, _ := Create(4096)
		x, _ := OpenWithoutNet(s.File(), 0)
		y, _ := OpenWithoutNet(s.File(), 1)
		s.File().Close()
		a, b := x.(*link), y.(*link)
		ca, cb := &cnt{p: transport.NewPoller()}, &cnt{p: transport.NewPoller()}
		a.Start(ca)
		b.Start(cb)
		ca.p.Add(a)
		cb.p.Add(b)
		var ra, rb atomic.Int64
		fin := make(chan bool, 2)
		go func() {
			for n := range int64(200) {
				rb.Store(n)
				cb.p.Wait(t.Context(), func() bool { return cb.n.Load() > n })
				if n%5 == 0 {
					time.Sleep(300 * time.Microsecond)
				}
				b.Send(&transport.Frame{Header: transport.Header{Channel: 1}})
			}
			fin <- true
		}()
		go func() {
			for n := range int64(200) {
				ra.Store(n)
				a.Send(&transport.Frame{Header: transport.Header{Channel: 1}})
				ca.p.Wait(t.Context(), func() bool { return ca.n.Load() > n })
				if n%7 == 0 {
					time.Sleep(300 * time.Microsecond)
				}
			}
			fin <- true
		}()
		for range 2 {
			select {
			case <-fin:
			case <-time.After(8 * time.Second):
				buf := make([]byte, 1<<20)
				for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
					if strings.Contains(g, "shm.") {
						t.Log(g)
					}
				}
				t.Fatalf("rep %d: a round %d has %d; b round %d has %d\n%s%s", rep, ra.Load(), ca.n.Load(), rb.Load(), cb.n.Load(), state("a", a), state("b", b))
			}
		}
		a.Close()
		b.Close()
		<-a.done
		<-b.done
	}
}
