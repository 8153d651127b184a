//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/launch"
	"github.com/intrahpc/intra/internal/launcher"
)

// checkMPI finds out whether so many processes can be those of the launcher.
func checkMPI(p *launcher.Process, processes int) error {
	switch {
	case p == nil:
		return errors.New("-mpi: no launcher has started intrarun several times (looked for OMPI_COMM_WORLD_SIZE, PMI_FD and SLURM_STEP_ID in the environment): start it with mpirun, mpiexec or srun --mpi=pmi2")
	case p.Size != processes:
		return fmt.Errorf("-mpi: %s has started %d processes, and the job has %d: have it start as many", p.Launcher, p.Size, processes)
	}
	if err := p.ForMPI(); err != nil {
		return fmt.Errorf("-mpi: %w", err)
	}
	return nil
}

// lend has the job use what the launcher has given to this process.
func lend(c *launch.Config) error {
	return launch.Lend(context.Background(), c.Indexed)
}
