package inproc_test

import (
	"fmt"
	"testing"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
)

func TestLink(t *testing.T) {
	for _, capacity := range []int{1000, inproc.DefaultCapacity} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			linktest.Run(t, func(testing.TB) (a, b transport.Link) {
				return inproc.Pair(inproc.Capacity(capacity))
			})
		})
	}
}

func BenchmarkLink(b *testing.B) {
	linktest.Benchmark(b, func(testing.TB) (x, y transport.Link) { return inproc.Pair() })
}
