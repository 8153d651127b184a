package reductions

import (
	"fmt"
	"testing"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
	"github.com/intrahpc/intra/testdata/generate/same"
)

const want = "WANT"

func TestSteps(t *testing.T) {
	kills := []string{"0.0@section:1", "0.1@section:3", "0.0@task:2", "0.1@task:9", "0.1@update:0", "0.0@update:5", "0.1@section:5"}
	same.Everywhere(t, want, kills, func(p *intra.Process) []float64 { return Steps(p, 1003) })
}

// Bits do not depend on who runs which task, and checked mode has nothing to
// say about it.
func TestSchedules(t *testing.T) {
	for name, opt := range map[string]intratest.Option{"static": intratest.Sched("static"), "replicate": intratest.Sched("replicate"), "threads": intratest.Threads(3), "check": nil} {
		t.Run(name, func(t *testing.T) {
			var opts []intratest.Option
			if opt != nil {
				opts = append(opts, opt)
			}
			intratest.Run(t, intra.Spec{Ranks: 1, Replicas: 2, Check: opt == nil}, func(p *intra.Process) error {
				if sum := same.Sum(Steps(p, 1003)); sum != want {
					return fmt.Errorf("bits %s, want %s", sum, want)
				}
				return nil
			}, opts...)
		})
	}
}
