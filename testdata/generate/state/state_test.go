package state

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// Every field is registered under its name, and none that is left out: a
// name that is taken cannot be registered again.
func TestFieldsAreRegistered(t *testing.T) {
	for name, taken := range map[string]bool{
		"solver.x": true, "solver.r": true, "solver.rho": true, "solver.iter": true, "solver.box": true,
		"solver.ions": true, "solver.random": true, "solver.second": true, "solver.started": true,
		"solver.mesh.X": true, "solver.mesh.Y": true, "solver.clock.ticks": true,
		"solver.history.last": true, "solver.history.next": true, "solver.own": true,
		"solver.p": false, "solver.matrix": false, "solver.log": false, "solver.mesh.volume": false,
		"solver.mesh": false, "solver._": false,
	} {
		t.Run(name, func(t *testing.T) {
			intratest.Run(t, intra.Spec{Replicas: 2}, func(p *intra.Process) error {
				newSolver(p, 10)
				var other s
				other.Protect(p, "other")
				intra.Protect(p, name, new(int))
				err := p.SafePoint()
				if got := err != nil && strings.HasPrefix(err.Error(), "state/state_test.go:") && strings.HasSuffix(err.Error(), "the name is taken already"); got != taken {
					return fmt.Errorf("%v", err)
				}
				return nil
			})
		})
	}
}
