//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/launch"
)

// checkMPI checks that the launcher provides this number of processes.
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

// lend lends the launcher's resources for this process to the job. If the first process of
// this host has ended before, it has reported why.
func lend(c *launch.Config) error {
	if err := launch.Lend(context.Background(), c.Indexed); !errors.Is(err, launcher.ErrNoBorrower) {
		return err
	}
	return nil
}

// leaveTime bounds how long leave waits.
const leaveTime = 2 * time.Second

// leave waits until this process has also reported its regular end to the launcher. If the
// agent of this host has not begun, it does not wait.
func leave(c *launch.Config, lent <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	dismissed := make(chan struct{})
	go func() {
		defer close(dismissed)
		launch.Dismiss(ctx, c.Indexed)
	}()
	select {
	case <-lent:
	case <-ctx.Done():
	}
	cancel()
	<-dismissed
}
