//go:build mpi && linux

package job

import "github.com/intrahpc/intra/transport/mpi"

// hasMPI is true: this program can load an MPI library.
const hasMPI = true

func joinMPI() (world, World, error) {
	w, err := mpi.Init()
	if err != nil {
		return nil, World{}, err
	}
	return w, World{Rank: w.Rank(), Library: w.Library(), File: w.File(), Level: w.Level()}, nil
}
