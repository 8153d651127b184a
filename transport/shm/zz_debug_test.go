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

type cnt struct{ n atomic.Int64 }

func (c *cnt) Begin(*transport.Header) []byte    { return nil }
func (c *cnt) End(h *transport.Header, p []byte) { c.n.Add(1) }
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
