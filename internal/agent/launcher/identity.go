package launcher

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/base/affinity"
)

// Identity makes a process look, to the launcher's MPI library, like one that the launcher has
// started. It consists of variables and, with PMI-1, a descriptor. Another process of the host
// that gets them takes its role, and its processors.
type Identity struct {
	Variables  []string `json:"variables"`
	Processors []int    `json:"processors"` // the processors to which the launcher has bound the process
	PMI        *os.File `json:"-"`          // nil: the launcher uses none
}

// envPMI names the descriptor of the connection to the launcher.
const envPMI = "PMI_FD"

// families are the prefixes of the variables' names.
var families = []string{"OMPI_", "OPAL_", "ORTE_", "PRTE_", "PMIX_", "PMI_", "PMI2_", "MPI_LOCAL", "MPIR_", "HYD", "SLURM"}

func ofLauncher(variable string) bool {
	return slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(variable, f) })
}

// Own returns the identity of this process. The process keeps its own descriptor.
func Own(environ []string) (*Identity, error) {
	i := new(Identity)
	var err error
	if i.Processors, err = affinity.Allowed(); err != nil {
		return nil, err
	}
	for _, v := range environ {
		number, isPMI := strings.CutPrefix(v, envPMI+"=")
		switch {
		case !ofLauncher(v):
		case !isPMI:
			i.Variables = append(i.Variables, v)
		default:
			fd, err := strconv.Atoi(number)
			if err == nil {
				fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			}
			if err != nil {
				return nil, fmt.Errorf("duplicate the descriptor %s: %w", v, err)
			}
			i.PMI = os.NewFile(uintptr(fd), "PMI")
		}
	}
	return i, nil
}

// validate rejects variables that no launcher sets. Such variables could make a process run
// another program.
func (i *Identity) validate() error {
	for _, v := range i.Variables {
		if name, _, _ := strings.Cut(v, "="); !ofLauncher(v) || name == envPMI {
			return fmt.Errorf("the variable %s is none of a launcher's: want %s…", name, strings.Join(families, "…, "))
		}
	}
	return nil
}

// Environ returns an environment in which this identity replaces any other. fd is the
// descriptor that PMI has in the process.
func (i *Identity) Environ(environ []string, fd int) []string {
	all := slices.DeleteFunc(slices.Clone(environ), ofLauncher)
	all = append(all, i.Variables...)
	if i.PMI != nil {
		all = append(all, fmt.Sprintf("%s=%d", envPMI, fd))
	}
	return all
}
