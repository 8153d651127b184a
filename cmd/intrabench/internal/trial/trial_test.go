package trial_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

func TestRun(t *testing.T) {
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	out, err := trial.Run(t.Context(), sh("echo out; echo text >&2"))
	require.NoError(t, err)
	require.Equal(t, "out\n", string(out))

	_, err = trial.Run(t.Context(), sh("echo text >&2; exit 3"))
	require.ErrorContains(t, err, "text")
	require.ErrorContains(t, err, "exit status 3")

	out, err = trial.Run(t.Context(), sh("echo out; exit 3"), 3)
	require.NoError(t, err, "it may be")
	require.Equal(t, "out\n", string(out))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = trial.Run(ctx, sh("exit 3"), 3)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTurn(t *testing.T) {
	const n = 5
	before := make(map[[2]int]bool)
	for round := range n {
		var order []int
		for i := range n {
			order = append(order, trial.Turn(round, i, n))
			if i > 0 {
				before[[2]int{order[i-1], order[i]}] = true
			}
		}
		require.ElementsMatch(t, []int{0, 1, 2, 3, 4}, order)
	}
	require.Len(t, before, 2*n, "each configuration follows two others")
}

func TestDecode(t *testing.T) {
	var v struct{ N int }
	require.NoError(t, trial.Decode("the report is", []byte(`{"n":2}`), &v))
	require.Equal(t, 2, v.N)
	err := trial.Decode("the report is", bytes.Repeat([]byte("x"), 1000), &v)
	require.ErrorIs(t, err, trial.ErrOutput)
	require.ErrorContains(t, err, "the report is")
	require.Less(t, len(err.Error()), 400)
}
