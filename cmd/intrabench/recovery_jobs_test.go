//go:build linux && system

package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/recoverybench"
)

// The values come from the messages and the output of a real job with a death.
func TestJobWithAReplacement(t *testing.T) {
	programs, err := figures.Build(t.Context(), figures.HPCCG)
	require.NoError(t, err)
	defer programs.Remove()
	p := recoverybench.Programs{Intrarun: programs.Intrarun, HPCCG: programs.App, Dir: filepath.Dir(programs.App)}
	r, err := p.Run(t.Context(), recoverybench.Job{Ranks: 1, Replicas: 2, Flags: []string{"-replace", "-kill", "0.1@section:50"}, Traced: true},
		recoverybench.Problem{NX: 8, NY: 8, NZ: 16, Iters: 100})
	require.NoError(t, err)
	require.Len(t, r.Deaths, 1)
	for replica := range 2 {
		require.NotEmpty(t, r.Tasks[replica])
	}
	require.Less(t, r.Tasks[1][0], r.Deaths[0], "the replica has run tasks before its death")
	require.Less(t, r.Deaths[0], r.Tasks[0][len(r.Tasks[0])-1], "the other replica has run tasks after that")
}
