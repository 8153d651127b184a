package launcher

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	openMPI := map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}
	for _, c := range []struct {
		name        string
		environment map[string]string
		launcher    string // "" if none
		rank, size  int
		err         string
	}{
		{name: "none"},
		{name: "Open MPI", environment: openMPI, launcher: "mpirun", rank: 3, size: 4},
		{name: "hydra", environment: map[string]string{"PMI_FD": "7", "PMI_RANK": "0", "PMI_SIZE": "2"}, launcher: "mpiexec", size: 2},
		{name: "hydra by port", environment: map[string]string{"PMI_PORT": "h:1", "PMI_ID": "0"}, err: "leave out -pmi-port"},
		{name: "no descriptor", environment: map[string]string{"PMI_FD": "x", "PMI_RANK": "0", "PMI_SIZE": "2"}, err: `PMI_FD="x" is not a descriptor`},
		{name: "srun", environment: map[string]string{"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5"}, launcher: "srun", rank: 5, size: 8},
		{name: "srun with PMI", environment: map[string]string{"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "PMI_FD": "7", "PMI_RANK": "5", "PMI_SIZE": "8"}, launcher: "srun", rank: 5, size: 8},
		{name: "in a batch script", environment: map[string]string{"SLURM_JOB_ID": "1", "SLURM_PROCID": "0"}},
		{name: "alone", environment: map[string]string{"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}},
		{name: "no rank", environment: map[string]string{"OMPI_COMM_WORLD_SIZE": "4"}, err: `OMPI_COMM_WORLD_RANK="" is not one of OMPI_COMM_WORLD_SIZE="4"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Find(func(name string) string { return c.environment[name] })
			switch {
			case c.err != "":
				require.ErrorIs(t, err, ErrLauncher)
				require.ErrorContains(t, err, c.err)
			case c.launcher == "":
				require.NoError(t, err)
				require.Nil(t, p)
			default:
				require.NoError(t, err)
				require.Equal(t, c.launcher, p.Launcher)
				require.Equal(t, c.rank, p.Rank)
				require.Equal(t, c.size, p.Size)
			}
		})
	}
}

// The user is warned if the launcher does not survive a death.
func TestWarning(t *testing.T) {
	openMPI := map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0", "OMPI_MCA_orte_hnp_uri": "1;tcp://10.0.0.1:1"}
	recovery := maps.Clone(openMPI)
	recovery["OMPI_MCA_orte_enable_recovery"] = "1"
	hydra := map[string]string{"PMI_FD": "7", "PMI_RANK": "0", "PMI_SIZE": "2"}
	slurm := maps.Clone(hydra)
	slurm["SLURM_STEP_ID"] = "0"
	for _, c := range []struct {
		name        string
		environment map[string]string
		hosts       int
		mpi         bool
		want        string
	}{
		{"Open MPI, hosts", openMPI, 2, false, "mpirun ends the job when a host is lost: start it with mpirun --enable-recovery"},
		{"Open MPI, one host", openMPI, 1, false, ""},
		{"Open MPI, messages", openMPI, 1, true, "mpirun complains of a process that dies"},
		{"Open MPI, recovery", recovery, 2, true, ""},
		{"hydra, hosts", hydra, 2, false, "mpiexec ends the job when a host is lost; mpirun"},
		{"hydra, one host", hydra, 1, true, ""},
		{"srun", slurm, 2, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Find(func(name string) string { return c.environment[name] })
			require.NoError(t, err)
			if got := p.Warning(c.hosts, c.mpi); c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
		})
	}
}

// gatherAll has all processes exchange their names.
func gatherAll(t *testing.T, size int, gather func(rank int, word []byte) ([][]byte, error)) {
	var want [][]byte
	for i := range size {
		want = append(want, fmt.Appendf(nil, "process %d = x\n", i))
	}
	got, errs := make([][][]byte, size), make([]error, size)
	var wg sync.WaitGroup
	for i := range size {
		wg.Go(func() { got[i], errs[i] = gather(i, want[i]) })
	}
	wg.Wait()
	for i := range size {
		require.NoError(t, errs[i])
		require.Equal(t, want, got[i])
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "meet")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	gatherAll(t, 5, func(rank int, word []byte) ([][]byte, error) { return gatherFolder(ctx, dir, rank, 5, word) })
	require.NoDirExists(t, dir)
}

func TestFolderNotShared(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := gatherFolder(ctx, filepath.Join(t.TempDir(), "meet"), 0, 2, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "process 1 of 2 has not come to the folder")
	require.ErrorContains(t, err, "do all hosts share it (INTRA_RENDEZVOUS=FOLDER)?")
}

// server is a launcher that speaks PMI-1.
type server struct {
	mu      sync.Mutex
	values  map[string]string
	waiting sync.WaitGroup
}

func (s *server) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		f := make(map[string]string)
		for _, w := range strings.Fields(line) {
			name, value, _ := strings.Cut(w, "=")
			f[name] = value
		}
		answer := ""
		switch f["cmd"] {
		case "init":
			answer = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
		case "get_my_kvsname":
			answer = "cmd=my_kvsname kvsname=kvs_1"
		case "put":
			s.mu.Lock()
			s.values[f["kvsname"]+f["key"]] = f["value"]
			s.mu.Unlock()
			answer = "cmd=put_result rc=0 msg=success"
		case "barrier_in":
			s.waiting.Done()
			s.waiting.Wait()
			answer = "cmd=barrier_out"
		case "get":
			s.mu.Lock()
			value, ok := s.values[f["kvsname"]+f["key"]]
			s.mu.Unlock()
			if answer = "cmd=get_result rc=0 msg=success value=" + value; !ok {
				answer = "cmd=get_result rc=-1 msg=key_not_found"
			}
		case "finalize":
			answer = "cmd=finalize_ack"
		}
		io.WriteString(c, answer+"\n")
	}
}

func TestPMI(t *testing.T) {
	const size = 3
	s := &server{values: make(map[string]string)}
	s.waiting.Add(size)
	gatherAll(t, size, func(rank int, word []byte) ([][]byte, error) {
		here, there := net.Pipe()
		go s.serve(there)
		return gatherPMI(t.Context(), here, rank, size, word, true)
	})
}

func TestPMIFails(t *testing.T) {
	answers := func(lines ...string) error {
		here, there := net.Pipe()
		go func() {
			in := bufio.NewReader(there)
			for _, l := range lines {
				in.ReadString('\n')
				io.WriteString(there, l+"\n")
			}
			in.ReadString('\n')
			there.Close()
		}()
		_, err := gatherPMI(t.Context(), here, 0, 1, []byte("w"), true)
		return err
	}
	require.ErrorContains(t, answers("cmd=response_to_init rc=-1"), `"cmd=init pmi_version=1 pmi_subversion=1" was answered with "cmd=response_to_init rc=-1", want response_to_init`)
	require.ErrorContains(t, answers("cmd=nonsense"), "want response_to_init")
	require.ErrorIs(t, answers("cmd=response_to_init rc=0"), io.EOF)
	_, err := gatherPMI(t.Context(), nowhere{}, 0, 1, make([]byte, 2*maxValue), true)
	require.ErrorContains(t, err, "does not fit")
}

type nowhere struct{ io.ReadWriter }

func (nowhere) Close() error { return nil }
