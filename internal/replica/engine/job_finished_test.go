package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/intratest"
)

// TestDeathAfterTheEnd kills a process whose program has returned, but which still has
// messages to deliver. Another replica delivers them; without one the rank is lost.
func TestDeathAfterTheEnd(t *testing.T) {
	const size = 50_000 // too large to be sent before a receive requests it
	program := func(p *intra.Process) error {
		x := make([]float64, size)
		if p.Rank() == 0 {
			for i := range x {
				x[i] = float64(i)
			}
			comm.Isend(p.World(), x, 1, 0)
			return nil
		}
		time.Sleep(20 * time.Millisecond) // by then rank 0 has most likely returned
		if _, err := comm.Recv(p.World(), x, 0, 0); err != nil {
			return err
		}
		for i := range x {
			if x[i] != float64(i) {
				t.Errorf("element %d is %v", i, x[i])
				break
			}
		}
		return nil
	}
	report := intratest.Run(t, intra.Spec{Degrees: []int{2, 2}}, program, intratest.Kills("0.1@message:0"))
	require.Len(t, report.Deaths, 1)

	report = intratest.Run(t, intra.Spec{Degrees: []int{1, 2}}, program, intratest.Kills("0.0@message:0"), intratest.Fails())
	require.ErrorIs(t, report.Err, intra.ErrLost)
}
