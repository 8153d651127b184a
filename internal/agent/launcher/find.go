package launcher

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// EnvFolder names the folder through which processes exchange words if their launcher offers
// no other means. The default is the current folder.
const EnvFolder = "INTRA_RENDEZVOUS"

// ErrLauncher marks a launcher's environment that cannot be used.
var ErrLauncher = errors.New("processes of a launcher")

// Process is this process among those that a launcher has started.
type Process struct {
	Launcher   string
	Rank, Size int
	Host       string // the launcher's name for this host, "" if unknown
	// Sure means that the launcher has certainly started the other processes too, even if they
	// are not visible.
	Sure   bool
	Notice func(text string) // reports that this process waits for the others; nil: no report

	rankName, sizeName string // names of the variables for rank and size
	here               int    // number of processes that the launcher has started on this host, 0 if unknown
	keep               func() // keeps the launcher's connection for MPI; nil: there is none
	noMPI              string // why the processes cannot use MPI; "" if they can
	spares             spares // effect of a death on the launcher's other processes
	gather             func(ctx context.Context, word []byte) ([][]byte, error)
}

// Gather exchanges a word, of some hundred bytes, between all processes. Each process calls it
// once. It returns all words, by rank.
func (p *Process) Gather(ctx context.Context, word []byte) ([][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !p.Sure {
		go func() {
			if err := p.alone(ctx.Done()); err != nil {
				cancel(err)
			}
		}()
	}
	if p.Notice != nil {
		go p.waits(ctx.Done())
	}
	all, err := p.gather(ctx, word)
	if err == nil {
		return all, nil
	}
	if why := context.Cause(ctx); errors.Is(why, ErrAlone) {
		return nil, why
	}
	return nil, fmt.Errorf("meet the processes that %s has started: %w", p.Launcher, err)
}

// ForMPI leaves the launcher's connection open for the MPI library, which uses it after
// Gather. It returns the reason if the processes cannot use MPI.
func (p *Process) ForMPI() error {
	if p.noMPI != "" {
		return fmt.Errorf("%w: %s", ErrLauncher, p.noMPI)
	}
	if p.keep != nil {
		p.keep()
	}
	return nil
}

// Find reads the environment. It returns nil, nil for a process that no launcher has started,
// or that a launcher has started alone.
func Find(getenv func(string) string) (*Process, error) {
	p := new(Process)
	switch {
	case getenv("OMPI_COMM_WORLD_SIZE") != "":
		p.Launcher, p.rankName, p.sizeName = "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
		p.here, _ = strconv.Atoi(getenv("OMPI_COMM_WORLD_LOCAL_SIZE"))
		// The namespace alone is not unique: launchers reuse it after some time.
		p.gather = folder(p, getenv, "mpirun", getenv("OMPI_MCA_orte_hnp_uri"), getenv("PMIX_NAMESPACE"))
		if recovers, _ := strconv.ParseBool(getenv("OMPI_MCA_orte_enable_recovery")); !recovers && getenv("OMPI_MCA_orte_hnp_uri") != "" {
			p.spares = notAsked
		}
	case getenv("PMI_PORT") != "":
		return nil, fmt.Errorf("%w: they were told to connect to it (PMI_PORT): leave out -pmi-port of mpiexec", ErrLauncher)
	case getenv("PMI_FD") != "":
		p.Launcher, p.rankName, p.sizeName, p.spares = "mpiexec", "PMI_RANK", "PMI_SIZE", never
		if getenv("SLURM_STEP_ID") != "" {
			p.Launcher, p.Host, p.spares = "srun", getenv("SLURMD_NODENAME"), unknown
		}
		p.here, _ = strconv.Atoi(getenv("MPI_LOCALNRANKS"))
		fd, err := strconv.Atoi(getenv("PMI_FD"))
		if err != nil || fd < 0 {
			return nil, fmt.Errorf("%w: PMI_FD=%q is not a descriptor", ErrLauncher, getenv("PMI_FD"))
		}
		p.gather = func(ctx context.Context, word []byte) ([][]byte, error) {
			if err := checkSocket(fd); err != nil {
				return nil, err
			}
			return gatherPMI(ctx, os.NewFile(uintptr(fd), "PMI"), p.Rank, p.Size, word, true)
		}
		p.keep = func() { p.gather = shared(p, fd) }
		if p.Launcher == "srun" { // srun accepts no second init
			p.keep = func() { p.gather = folder(p, getenv, "srun", getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID")) }
		}
	case getenv("SLURM_STEP_ID") != "" && getenv("SLURM_STEP_NUM_TASKS") != "":
		p.Launcher, p.rankName, p.sizeName = "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"
		p.Host = getenv("SLURMD_NODENAME")
		p.gather = folder(p, getenv, "srun", getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"))
		p.noMPI = "srun gives them no PMI_FD: use srun --mpi=pmi2, with a library that has the ABI of MPICH"
	default:
		return nil, nil
	}
	var err1, err2 error
	p.Rank, err1 = strconv.Atoi(getenv(p.rankName))
	p.Size, err2 = strconv.Atoi(getenv(p.sizeName))
	if err1 != nil || err2 != nil || p.Rank < 0 || p.Rank >= p.Size {
		return nil, fmt.Errorf("%w: %s=%q is not one of %s=%q", ErrLauncher, p.rankName, getenv(p.rankName), p.sizeName, getenv(p.sizeName))
	}
	if p.Size == 1 {
		return nil, nil
	}
	return p, nil
}

// shared gathers through PMI. It leaves the connection open for the MPI library, which sends
// its own init.
func shared(p *Process, fd int) func(context.Context, []byte) ([][]byte, error) {
	return func(ctx context.Context, word []byte) ([][]byte, error) {
		if err := checkSocket(fd); err != nil {
			return nil, err
		}
		mine, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("duplicate the descriptor PMI_FD=%d: %w", fd, err)
		}
		return gatherPMI(ctx, os.NewFile(uintptr(mine), "PMI"), p.Rank, p.Size, word, false)
	}
}

// folder gathers through a folder with a unique name.
func folder(p *Process, getenv func(string) string, words ...string) func(context.Context, []byte) ([][]byte, error) {
	hash := sha256.Sum256(fmt.Appendf(nil, "%q", words))
	dir := filepath.Join(cmp.Or(getenv(EnvFolder), "."), ".intra-"+hex.EncodeToString(hash[:8]))
	return func(ctx context.Context, word []byte) ([][]byte, error) {
		return gatherFolder(ctx, dir, p.Rank, p.Size, word)
	}
}
