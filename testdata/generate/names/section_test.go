//go:build !intra

package names

import (
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/generate/same"
)

func TestSection(t *testing.T) {
	same.Everywhere(t, "fe555d486cc83792", []string{"0.0@task:0", "0.1@section:1"}, func(p *intra.Process) []float64 {
		x := make([]int, 100)
		//intra:section on(p) sched(static)
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			count(lo, x[lo:hi])
		}
		n := 0
		//intra:section
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			n += odd(x[lo:hi])
		}
		return []float64{float64(n)}
	})
}
