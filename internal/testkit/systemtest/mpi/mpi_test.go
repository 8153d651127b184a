//go:build system && linux

package mpi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// launcher starts intrarun once for each process.
type launcher struct {
	name    string
	command []string // the number of processes follows it
	library string   // prefix of the name of the library
	hides   bool     // the exit code of the launcher has no meaning
	rank    string   // the variable with the rank
}

var launchers = []launcher{
	{"Open MPI", []string{"mpirun.openmpi", "--oversubscribe", "--enable-recovery", "-np"}, "Open MPI v4.", true, "OMPI_COMM_WORLD_RANK"},
	{"MPICH", []string{"mpiexec.hydra", "-n"}, "MPICH Version: 4.", false, "PMI_RANK"},
}

// each runs a test under each launcher.
func each(t *testing.T, test func(t *testing.T, l launcher)) {
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			if _, err := exec.LookPath(l.command[0]); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("%s is not installed", l.command[0])
				}
				t.Skipf("%s is not installed", l.command[0])
			}
			test(t, l)
		})
	}
}

// report is the part of a job's report that these tests use.
type report struct {
	jobtest.Report
	Link string `json:"link"`
	MPI  struct {
		Library string `json:"library"`
		Level   string `json:"thread_level"`
		Outside []struct {
			Process string `json:"process"`
		} `json:"outside"`
	} `json:"mpi"`
}

// run runs a job of two ranks with two replicas. The report is empty if the job has not
// begun.
func (l launcher) run(t *testing.T, processes int, env, flags string, program ...string) (jobtest.Result, report) {
	t.Helper()
	return l.behind(t, nil, processes, env, flags, program...)
}

// behind is like run, but a wrapper starts the processes.
func (l launcher) behind(t *testing.T, wrapper []string, processes int, env, flags string, program ...string) (jobtest.Result, report) {
	t.Helper()
	r := jobtest.Run(t, jobtest.Spec{
		Prefix:   append(append(l.command[:len(l.command):len(l.command)], strconv.Itoa(processes)), wrapper...),
		Intrarun: binaries.Intrarun(t),
		Flags:    append(strings.Fields("-mpi -link mpi -n 2 -r 2"), strings.Fields(flags)...),
		Program:  program,
		Env:      append(strings.Fields(env), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"),
		Dir:      t.TempDir(), Deadline: 2 * time.Minute,
	})
	var said report
	if len(r.Report) > 0 {
		r.Decode(t, &said)
	}
	return r, said
}

// result returns the output of a program, without the times in it.
func result(t *testing.T, stdout string) string {
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &all), stdout)
	for name := range all {
		if strings.Contains(name, "seconds") {
			delete(all, name)
		}
	}
	b, err := json.Marshal(all)
	require.NoError(t, err)
	return string(b)
}

// reference returns the result without MPI and without deaths.
func reference(t *testing.T, program []string) string {
	r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 2 -r 2"), Program: program})
	require.Zero(t, r.Code, r.Stderr)
	return result(t, r.Stdout)
}

func hpccg(t *testing.T) []string {
	return append([]string{binaries.Native(t, "examples/hpccg")}, strings.Fields("-nx 8 -ny 8 -nz 8 -iters 30 -json")...)
}

func gtc(t *testing.T) []string {
	return append([]string{binaries.Native(t, "examples/gtc")}, strings.Fields("-mpsi 10 -mthetamax 32 -micell 1 -steps 1 -json")...)
}

// The bits are those of a job without MPI, whichever processes die.
func TestSameBits(t *testing.T) {
	for name, program := range map[string][]string{"HPCCG": hpccg(t), "GTC": gtc(t)} {
		want := reference(t, program)
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, l launcher) {
				r, said := l.run(t, 4, "", "", program...)
				require.Zero(t, r.Code, r.Stderr)
				require.Equal(t, want, result(t, r.Stdout))
				require.Equal(t, "mpi", said.Link)
				require.Contains(t, said.MPI.Library, l.library)
				require.Equal(t, "MPI_THREAD_SERIALIZED", said.MPI.Level)
				require.Empty(t, said.MPI.Outside)
			})
		})
	}
}

// Within a host messages use the links of intrarun, unless -link mpi is given. Here each of
// two hosts has a process of each rank.
func TestBetweenHosts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a host another name (unshare --uts)")
	}
	program := hpccg(t)
	want := reference(t, program)
	each(t, func(t *testing.T, l launcher) {
		hosts := []string{"unshare", "--uts", "sh", "-c", `hostname h$(($` + l.rank + `/2)); exec "$0" "$@"`}
		for _, flags := range []string{"-link shm -kill 0.1@section:20", "-link unix -replace -kill 1.0@task:100"} {
			r, said := l.behind(t, hosts, 4, "", flags, program...)
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, want, result(t, r.Stdout), r.Stderr)
			require.Equal(t, strings.Fields(flags)[1], said.Link)
			require.Contains(t, said.MPI.Library, l.library)
			require.NotContains(t, r.Stderr, "nothing goes over the MPI library")
		}
		r, said := l.run(t, 4, "", "-link shm", program...)
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, want, result(t, r.Stdout), r.Stderr)
		require.Equal(t, "shm", said.Link)
		require.Contains(t, r.Stderr, "all processes are on one host, where their links are shm: nothing goes over the MPI library")
	})
}

// kill runs a job in which a process is killed, and checks the outcome.
func kill(t *testing.T, l launcher, want, at, flags string, program []string) {
	r, said := l.run(t, 4, "", "-sched static -kill "+at+" "+flags, program...)
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, want, result(t, r.Stdout), r.Stderr)
	require.Len(t, said.Failures, 1, r.Stderr)
	require.Zero(t, said.ExitCode)
}

func TestKilled(t *testing.T) {
	program := hpccg(t)
	want := reference(t, program)
	each(t, func(t *testing.T, l launcher) {
		for _, at := range []string{"0.1@section:20", "1.0@task:100", "0.0@update:30", "1.1@message:20"} {
			t.Run(at, func(t *testing.T) { kill(t, l, want, at, "", program) })
		}
	})
}

// The replacement of a dead process is not in MPI_COMM_WORLD.
func TestReplaced(t *testing.T) {
	program := append(hpccg(t), "-iters", "3000")
	want := reference(t, program)
	each(t, func(t *testing.T, l launcher) {
		r, said := l.run(t, 4, "", "-sched static -replace -kill 0.1@section:20", program...)
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, want, result(t, r.Stdout))
		require.Contains(t, r.Stderr, "0.1 is replaced by another process")
		require.Len(t, said.MPI.Outside, 1)
		require.Equal(t, "0.1", said.MPI.Outside[0].Process)
	})
}

// All replicas of a rank die, or those of both ranks, and the job rolls back to a backup.
func TestRankLost(t *testing.T) {
	program := hpccg(t)
	want := reference(t, program)
	each(t, func(t *testing.T, l launcher) {
		for _, kills := range []string{
			"-kill 0.0@section:40 -kill 0.1@section:60",
			"-kill 0.0@section:40 -kill 0.1@section:41 -kill 1.0@section:80 -kill 1.1@section:90",
		} {
			r, said := l.run(t, 4, "", "-sched static -replace -backup 3 "+kills, program...)
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, want, result(t, r.Stdout), r.Stderr)
			require.NotEmpty(t, said.MPI.Outside, r.Stderr)
			require.LessOrEqual(t, len(said.MPI.Outside), len(said.Failures), r.Stderr)
		}
	})
}

// Processes die at random: INTRA_MPI_KILLS is the number of kills.
func TestKilledAtRandom(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("INTRA_MPI_KILLS"))
	if n == 0 {
		t.Skip("INTRA_MPI_KILLS says how many kills")
	}
	seed, err := strconv.ParseUint(os.Getenv("INTRA_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("INTRA_SEED=%d", seed)
	program := hpccg(t)
	want := reference(t, program)
	each(t, func(t *testing.T, l launcher) {
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range n {
			point := []struct {
				name string
				most int
			}{{"section", 50}, {"task", 400}, {"update", 200}, {"message", 50}}[i%4]
			at := fmt.Sprintf("%d.%d@%s:%d", r.IntN(2), r.IntN(2), point.name, 1+r.IntN(point.most))
			flags := []string{"", "-replace"}[r.IntN(2)]
			t.Run(fmt.Sprintf("%d_%s%s", i, at, flags), func(t *testing.T) { kill(t, l, want, at, flags, program) })
		}
	})
}

// Jobs that cannot run are refused, and no process hangs.
func TestRefused(t *testing.T) {
	tagged, untagged := hpccg(t), append([]string{binaries.Program(t, "examples/hpccg")}, hpccg(t)[1:]...)
	each(t, func(t *testing.T, l launcher) {
		for _, c := range []struct {
			name, env string
			processes int
			program   []string
			says      string
		}{
			{"no tag", "", 4, untagged, "the program was built without the tag mpi: build it with -tags intra,mpi"},
			{"no program", "", 4, []string{"./nowhere"}, "./nowhere is neither an executable file nor a Go package"}, // only the first process reports this
			{"too few", "", 3, tagged, "has started 3 processes, and the job has 4"},
			{"no library", "INTRA_MPI_LIBRARY=/nowhere/libmpi.so", 4, tagged, "/nowhere/libmpi.so: cannot open shared object file"},
			{"no MPI", "INTRA_MPI_LIBRARY=libc.so.6", 4, tagged, "undefined symbol: MPI_Init_thread"},
			{"the other library", "INTRA_MPI_LIBRARY=libmpich.so.12", 4, tagged, "is not the launcher's library; set INTRA_MPI_LIBRARY to that"},
		} {
			if c.name == "the other library" && l.name == "MPICH" {
				continue // not necessary, and Open MPI would leave a folder behind
			}
			t.Run(c.name, func(t *testing.T) {
				r, _ := l.run(t, c.processes, c.env, "", c.program...)
				if !l.hides {
					require.Equal(t, 2, r.Code, r.Stderr)
				}
				require.Contains(t, r.Stderr, c.says)
				require.Empty(t, r.Stdout)
			})
		}
	})
}
