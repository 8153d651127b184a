package windows

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
	"github.com/intrahpc/intra/testdata/generate/same"
)

const want = "e8473d43f90049db"

func steps(p *intra.Process) error {
	x, err := Steps(p, 1000, 40)
	if sum := same.Sum(x); err == nil && sum != want {
		return fmt.Errorf("bits %s, want %s", sum, want)
	}
	return err
}

func TestSteps(t *testing.T) {
	require.NoError(t, steps(nil))
	for _, replicas := range []int{1, 2, 3} {
		intratest.Run(t, intra.Spec{Replicas: replicas}, steps)
	}
	intratest.Run(t, intra.Spec{Replicas: 2, Check: true}, steps)
}

// Tasks find in their windows all that they read, with other contents elsewhere.
func TestWindowsOfKeptResults(t *testing.T) {
	report := intratest.Run(t, intra.Spec{Replicas: 2}, steps, intratest.Lag(time.Hour))
	if same.Tagged {
		require.NotZero(t, report.Images)
	}
}

func TestWindowOutsideOfItsArgument(t *testing.T) {
	err := intra.Run(t.Context(), intra.Spec{Replicas: 1}, func(p *intra.Process) error {
		Outside(p, 20)
		return nil
	})
	if !same.Tagged {
		require.Error(t, err)
		return
	}
	require.ErrorContains(t, err, "windows.profile.multiply")
	require.ErrorContains(t, err, "windows/steps.go:65")
	require.ErrorContains(t, err, "in(x[p.from(mesh, len(y)):mesh+len(y)]): there are no elements 0 to 20 of 11")
}
