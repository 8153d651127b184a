package runreport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestFailureRecordsItsSurvivors(t *testing.T) {
	for _, c := range []struct {
		name   string
		by     string
		at     time.Duration
		counts bool
		want   float64
	}{
		{"a survivor", "0.0", 1600 * time.Millisecond, true, 1.6},
		{"its first report counts", "0.0", 1700 * time.Millisecond, false, 1.6},
		{"not before it was declared", "1.1", 1400 * time.Millisecond, true, 1.5},
		{"a dead process handles no verdict", "0.1", 1600 * time.Millisecond, false, 0},
	} {
		f := NewFailure(job.Verdict{Epoch: 3, Process: job.Process{Replica: 1}, Cause: job.CauseSignal}, 1500*time.Millisecond)
		f.Handled[job.Process{Rank: 7}] = 2
		p, err := job.ParseProcess(c.by)
		require.NoError(t, err, c.name)
		if !c.counts && c.want > 0 {
			f.Handled[p] = c.want
		}
		require.Equal(t, c.counts, f.HandledBy(p, c.at), c.name)
		require.Equal(t, c.want, f.Handled[p], c.name)
		require.EqualValues(t, 2, f.Handled[job.Process{Rank: 7}], c.name)
	}
}
