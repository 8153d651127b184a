package nowait

import (
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/generate/same"
)

const want = "55eef481379c4dfb"

func TestSteps(t *testing.T) {
	kills := []string{"0.0@section:1", "0.1@section:4", "0.0@section:9"}
	same.Everywhere(t, want, kills, func(p *intra.Process) []float64 {
		x, err := Steps(p, 333)
		if err != nil {
			panic(err)
		}
		return x
	})
}
