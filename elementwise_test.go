package intra_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
	intraruntime "github.com/intrahpc/intra/runtime"
)

var taskElementwise = intra.Register("intra_test.elementwise")

func TestElementwiseRegions(t *testing.T) {
	v, w := make([]float64, 4), make([]float64, 3)
	body := func(int, int) {}
	for want, regions := range map[string][]intra.Region{
		"in(v): what Elementwise is about has to be a slice that the task writes":  {intraruntime.Elementwise(intra.In("v", v), body)},
		"out(v): what Elementwise is about has to be a slice that the task writes": {intraruntime.Elementwise(intraruntime.OutBlock("v", v, 0, 2, 0, 1, 2), body)},
		"inout(v) has 4 elements and out(w) 3: a task that is elementwise writes":  {intraruntime.Elementwise(intra.InOut("v", v), body), intra.Out("w", w)},
		"out(v) has 4 elements and scratch(w) 3: a task that is elementwise":       {intra.Scratch("w", w), intraruntime.Elementwise(intra.Out("v", v), body)},
		"": {intra.In("w", w), intraruntime.Elementwise(intra.Out("v", v), body)},
	} {
		s := (*intra.Process)(nil).Section()
		s.Launch(taskElementwise, func() {}, regions...)
		err := s.End()
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// Checked mode runs tasks in parts, and reports tasks whose results differ.
func TestCheckedModeRunsPartsOfTasks(t *testing.T) {
	for want, body := range map[string]func(x []float64){
		"": func(x []float64) {
			for i := range x {
				x[i] = 2*x[i] + 1
			}
		},
		"it is not elementwise; leave that clause out": func(x []float64) {
			for i := range x {
				x[i] += x[0]
			}
		},
		"the task panics: out of plasma": func(x []float64) {
			if len(x) < 10 {
				panic("out of plasma")
			}
		},
	} {
		findings, err := intratest.Findings(func(s *intra.Section) {
			x := make([]float64, 10)
			for i := range x {
				x[i] = float64(i + 1)
			}
			s.Launch(taskElementwise, func() { body(x) }, intraruntime.Elementwise(intra.InOut("x", x), func(lo, hi int) { body(x[lo:hi]) }))
		})
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, findings)
			continue
		}
		require.Len(t, findings, 1)
		require.Contains(t, findings[0].Text, want)
		require.Equal(t, "inout(x)", findings[0].Argument)
	}
}
