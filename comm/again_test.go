package comm_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/sdrtest"
)

// TestRunsAgain: processes run again from settled points, alone, at random times, while others
// die, join and roll back. All replicas of a rank must observe and send the same values. A program
// whose messages depend on decisions is also compared with a run without replicas that repeats
// these decisions.
func TestRunsAgain(t *testing.T) {
	var decided, again atomic.Int64
	n := runTrials(t, func(seed uint64) (*sdrtest.Result, error) {
		trial := newTrial(seed)
		random := rand.New(rand.NewPCG(seed, 4))
		trial.job.Ordered, trial.job.Settle = true, 1+random.IntN(3)
		for range 2 + random.IntN(10) {
			rank := random.IntN(len(trial.job.Degrees))
			trial.job.Returns = append(trial.job.Returns,
				sdrtest.Return{Rank: rank, Replica: random.IntN(trial.job.Degrees[rank]), Step: random.IntN(4000)})
		}
		check := trial.check
		if random.IntN(2) == 0 {
			check = func() (*sdrtest.Result, error) { return trial.checkAnyOrder(&decided) }
		}
		res, err := check()
		if err == nil {
			again.Add(int64(res.Again))
		}
		return res, err
	})
	t.Logf("%d runs began at a settled point", again.Load())
	require.GreaterOrEqual(t, again.Load(), int64(n/150)*125, "too few of them to mean anything")
	require.GreaterOrEqual(t, decided.Load(), int64(n/150)*5_000, "too few decisions to mean anything")
}
