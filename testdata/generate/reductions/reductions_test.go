package reductions

import (
	"fmt"
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
	"github.com/intrahpc/intra/testdata/generate/same"
)

const want = "3b7b27f8d8fd4b87"

func TestSteps(t *testing.T) {
	kills := []string{"0.0@section:1", "0.1@section:3", "0.0@section:5"}
	same.Everywhere(t, want, kills, func(p *intra.Process) []float64 { return Steps(p, 1003) })
}

// Bits do not depend on who runs which task and who dies, and checked mode has
// nothing to say about it.
func TestSchedules(t *testing.T) {
	static := intratest.Sched("static")
	for name, opts := range map[string][]intratest.Option{
		"static": {static}, "replicate": {intratest.Sched("replicate")}, "threads": {intratest.Threads(3)}, "check": nil,
		"task": {static, kills("0.0@task:2")}, "late task": {static, kills("0.1@task:9")},
		"update": {static, kills("0.1@update:0")}, "late update": {static, kills("0.0@update:5")},
	} {
		t.Run(name, func(t *testing.T) {
			intratest.Run(t, intra.Spec{Ranks: 1, Replicas: 2, Check: name == "check"}, func(p *intra.Process) error {
				if sum := same.Sum(Steps(p, 1003)); sum != want {
					return fmt.Errorf("bits %s, want %s", sum, want)
				}
				return nil
			}, opts...)
		})
	}
}

// kills are reached where tasks run.
func kills(point string) intratest.Option {
	if !same.Tagged {
		return intratest.MayKill(point)
	}
	return intratest.Kills(point)
}
