//go:build system

package slurm

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// checksum reads the output of HPCCG.
func checksum(t *testing.T, stdout string) string {
	var out struct {
		XSHA256 string `json:"x_sha256"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &out), stdout)
	require.Len(t, out.XSHA256, 64)
	return out.XSHA256
}

// An allocation survives the loss of one of its nodes, and a job in it continues.
func TestNodeLost(t *testing.T) {
	c := newCluster(t)
	program := append([]string{binaries.Program(t, "examples/hpccg")}, strings.Fields("-nx 8 -ny 8 -nz 8 -iters 400 -json")...)
	reference := jobtest.Run(t, jobtest.Spec{
		Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 4 -r 1"), Program: program,
	})
	require.Zero(t, reference.Code, reference.Stderr)
	j := jobtest.Start(t, jobtest.Spec{
		Prefix:   strings.Fields("salloc -N 4 --ntasks-per-node=2 --no-kill"),
		Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-v -n 4 -r 2"), Program: program,
		Env: c.env(), Dir: t.TempDir(), Deadline: 2 * time.Minute, Outlived: true,
	})
	c.loseOnceJoined(t, 3, j)
	r := j.Wait(t)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "is dead (host: host n3 has not been heard from")
	require.Equal(t, checksum(t, reference.Stdout), checksum(t, r.Stdout))
}

// loseOnceJoined makes a node silent when all processes of a job have joined.
func (c *cluster) loseOnceJoined(t *testing.T, node int, j *jobtest.Job) {
	joined := false
	for ended := false; !joined && !ended; time.Sleep(5 * time.Millisecond) {
		select {
		case <-j.Ended():
			ended = true
		default:
		}
		joined = strings.Contains(j.Stderr(), "all have joined")
	}
	require.True(t, joined, j.Stderr())
	var pids []int
	for _, p := range j.Processes() {
		pids = append(pids, p.PID)
	}
	c.lose(t, node, pids)
}

// notShared keeps MPICH over UCX from using shared memory, which nodes do not have in common
// elsewhere. A process that dies may block it for the others.
const notShared = "UCX_TLS=^mm"

// The processes of srun form MPICH's MPI_COMM_WORLD on four nodes, and one of them dies. There are
// only four, because all of them poll. With eight processes on two cores, agents that were ready to
// run have waited for a core so long that their hosts seemed lost.
func TestMPI(t *testing.T) {
	needMPICH(t)
	c := newCluster(t)
	program := append([]string{binaries.Native(t, "examples/hpccg")}, strings.Fields("-nx 8 -ny 8 -nz 8 -iters 30 -json")...)
	reference := jobtest.Run(t, jobtest.Spec{
		Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 2 -r 1"), Program: program,
	})
	require.Zero(t, reference.Code, reference.Stderr)
	r := jobtest.Run(t, jobtest.Spec{
		Prefix:   strings.Fields("srun -N 4 -n 4 --mpi=pmi2 --no-kill --kill-on-bad-exit=0"),
		Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-mpi -v -n 2 -r 2 -sched static -kill 1.0@section:20"), Program: program,
		Env: append(c.env(), notShared), Dir: t.TempDir(), Deadline: 2 * time.Minute,
	})
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "MPI: MPICH")
	require.Contains(t, r.Stderr, "1.0 is dead")
	require.NotContains(t, r.Stderr, "share a host")
	require.Equal(t, checksum(t, reference.Stdout), checksum(t, r.Stdout))
}

// A node of srun is lost together with its processes of MPI_COMM_WORLD.
func TestMPINodeLost(t *testing.T) {
	needMPICH(t)
	c := newCluster(t)
	program := append([]string{binaries.Native(t, "examples/hpccg")}, strings.Fields("-nx 24 -ny 24 -nz 24 -iters 600 -json")...)
	reference := jobtest.Run(t, jobtest.Spec{
		Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 2 -r 1"), Program: program,
	})
	require.Zero(t, reference.Code, reference.Stderr)
	j := jobtest.Start(t, jobtest.Spec{
		Prefix:   strings.Fields("srun -N 4 -n 4 --mpi=pmi2 --no-kill --kill-on-bad-exit=0"),
		Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-mpi -v -n 2 -r 2"), Program: program,
		Env: append(c.env(), notShared), Dir: t.TempDir(), Deadline: 2 * time.Minute, Outlived: true,
	})
	c.loseOnceJoined(t, 3, j)
	r := j.Wait(t) // the exit code of srun is that of a task that was lost
	require.Contains(t, r.Stderr, "MPI: MPICH")
	require.Contains(t, r.Stderr, "is dead (host: host n3 has not been heard from")
	require.Equal(t, checksum(t, reference.Stdout), checksum(t, r.Stdout))
}

func needMPICH(t *testing.T) {
	if _, err := exec.LookPath("mpiexec.hydra"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("MPICH is not installed")
		}
		t.Skip("MPICH is not installed")
	}
}
