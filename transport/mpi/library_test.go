//go:build mpi && linux

package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABI(t *testing.T) {
	symbols := func(names ...string) func(string) uintptr {
		return func(name string) uintptr {
			for i, n := range names {
				if n == name {
					return uintptr(100 + i)
				}
			}
			return 0
		}
	}
	for _, c := range []struct {
		version string
		symbols []string
		want    abi
		err     string
	}{
		{version: "Open MPI v4.1.4", symbols: []string{"ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_errors_return"},
			want: abi{world: 100, byteType: 101, errorsReturn: 102, requestSize: 8}},
		{version: "Open MPI v9", symbols: []string{"ompi_mpi_comm_world"}, err: "but not ompi_mpi_byte"},
		{version: "MPICH Version:\t4.0.2", want: mpichABI},
		{version: "Intel(R) MPI Library 2021.9", want: mpichABI},
		{version: "Some MPI 1.0", err: `"Some MPI 1.0" has neither the ABI of Open MPI (the symbol ompi_mpi_comm_world) nor that of MPICH`},
	} {
		t.Run(c.version, func(t *testing.T) {
			got, err := abiOf(c.version, symbols(c.symbols...))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// The library of the launcher is tried first, unless the user names one.
func TestCandidates(t *testing.T) {
	in := func(environment map[string]string) []string {
		return candidates(func(name string) string { return environment[name] })
	}
	require.Equal(t, "libmpi.so.40", in(map[string]string{"OMPI_COMM_WORLD_SIZE": "2"})[0])
	require.Equal(t, "libmpich.so.12", in(map[string]string{"PMI_SIZE": "2"})[0])
	require.Equal(t, []string{"/opt/libmpi.so"}, in(map[string]string{"OMPI_COMM_WORLD_SIZE": "2", LibraryEnv: "/opt/libmpi.so"}))
}

func TestNoLibrary(t *testing.T) {
	named := func(file string) error {
		_, err := load(func(name string) string {
			if name == LibraryEnv {
				return file
			}
			return ""
		})
		return err
	}
	err := named("/nowhere/libmpi.so")
	require.ErrorIs(t, err, ErrLibrary)
	require.ErrorContains(t, err, "/nowhere/libmpi.so: cannot open shared object file")
	require.ErrorContains(t, err, "or set INTRA_MPI_LIBRARY to a file")
	err = named("libc.so.6")
	require.ErrorIs(t, err, ErrLibrary)
	require.ErrorContains(t, err, "libc.so.6")
	require.ErrorContains(t, err, "MPI_Init_thread")
}

// The thread level of an MPI library is a number. The standard fixes the order of these
// numbers.
func TestLevel(t *testing.T) {
	lib := &library{name: "libmpi.so.40", version: "Open MPI v4.1.4"}
	require.NoError(t, lib.enough(serialized))
	require.NoError(t, lib.enough(serialized+1))
	require.EqualError(t, lib.enough(1), "Open MPI v4.1.4 (libmpi.so.40) offers thread level MPI_THREAD_FUNNELED, and MPI_THREAD_SERIALIZED is needed: use a library built with threads")
}
