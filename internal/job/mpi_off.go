//go:build !mpi || !linux

package job

import "errors"

// hasMPI is false: this program cannot load an MPI library.
const hasMPI = false

func joinMPI() (world, World, error) {
	return nil, World{}, errors.New("the program was built without the tag mpi")
}
