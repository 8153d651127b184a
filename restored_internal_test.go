package intra

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/replica/engine"
)

// A restored process may use sections to compute unsaved data again. It must not use an
// operation that needs its peers.
func TestRestoredProcess(t *testing.T) {
	before := newProcess(engine.NewProgram())
	x, i := []float64{1, 2, 3}, 3
	Protect(before, "x", &x)
	Protect(before, "i", &i)
	require.NoError(t, before.SafePoint())
	im, err := before.run.Image()
	require.NoError(t, err)
	im = im.Clone(nil)

	p := newProcess(before.run.Again(im, 4, nil))
	x, i = nil, 0
	require.True(t, p.Restored())
	Protect(p, "x", &x)
	require.Equal(t, []float64{1, 2, 3}, x)
	var wrong []int32
	Protect(p, "i", &wrong)
	ran := 0
	s := p.Section()
	s.Launch(&Task{kernel: engine.NewKernel("matrix")}, func() { ran++ })
	require.NoError(t, s.End())
	require.Equal(t, 1, ran)
	_, err = Once(p, func() (int, error) { return 1, nil })
	require.ErrorContains(t, err, "intra.Once before the first SafePoint of a restored process")
	require.ErrorContains(t, p.SafePoint(), `intra/restored_internal_test.go:29: intra.Protect("i"): the saved state does not fit the program: `)
}
