//go:build system && linux

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// The peer program measures every case of both commands.
func TestPeer(t *testing.T) {
	needs.Tool(t, "mpicc.openmpi", "libopenmpi-dev")
	needs.Tool(t, "mpirun.openmpi", "openmpi-bin")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	peer := filepath.Join(t.TempDir(), "peer")
	out, err := exec.CommandContext(t.Context(), "mpicc.openmpi", "-O2", "-o", peer, "peer/peer.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, c := range [][]string{{"pingpong", "-max", "65536", "-link", "shm"}, {"collectives"}} {
		var out bytes.Buffer
		args := append(c, "-quiet", "-rounds", "1", "-time", "100us", "-degrees", "1,1", "-peer", "mpirun.openmpi -np 2 "+peer)
		require.NoError(t, run(t.Context(), args, &out, nil))
		require.Regexp(t, `(?m)^ +shm .*/ peer *$`, out.String())
		require.Regexp(t, `(?m)^ +peer .*1,1 µs`, out.String())
	}
}

func TestHPCCGBesideAPeer(t *testing.T) {
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "f.json")
	args := strings.Fields("hpccg -nx 6 -ny 6 -nz 6 -iters 5 -rounds 1 -quiet -json")
	require.NoError(t, run(t.Context(), append(args, file, "-peer", "echo Time: 3", "-peer-time", "Time: ([0-9.]+)"), &out, nil))
	require.FileExists(t, file)
	require.Regexp(t, `(?m)^  peer +3\.0000 .* 1\.000 +\[1\.000 1\.000\]$`, out.String())
	require.Regexp(t, `(?m)^  send +0\.`, out.String())
}
