//go:build linux

package shm_test

import (
	"fmt"
	"testing"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport/shm"
)

func BenchmarkLink(b *testing.B) {
	for _, size := range []int{1 << 20, shm.DefaultSize} {
		b.Run(fmt.Sprintf("ring=%dMiB", size>>20), func(b *testing.B) { linktest.Benchmark(b, pairOf(size)) })
	}
}
