package forms

import (
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/generate/same"
)

func TestSteps(t *testing.T) {
	kills := []string{"0.0@section:1", "0.1@section:3", "0.0@task:2", "0.1@task:9", "0.1@update:0", "0.0@update:5"}
	same.Everywhere(t, "3a0b955b90549997", kills, func(p *intra.Process) []float64 {
		s := &Simulation{P: p}
		return s.Steps(53)
	})
}

func TestBoxes(t *testing.T) {
	same.Everywhere(t, "e840e301e94d1b28", []string{"0.0@section:1", "0.1@section:2"}, Boxes)
}
