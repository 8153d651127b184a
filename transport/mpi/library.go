//go:build mpi && linux

package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// LibraryEnv names the MPI library to load, instead of the usual ones.
const LibraryEnv = "INTRA_MPI_LIBRARY"

// ErrLibrary means that no MPI library can be used.
var ErrLibrary = errors.New("no usable MPI library")

// The file names of libraries: Open MPI, then those with the ABI of MPICH.
var (
	openMPI = []string{"libmpi.so.40"}
	mpich   = []string{"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12"}
)

// candidates returns the libraries to try, those of the launcher first.
func candidates(getenv func(string) string) []string {
	if name := getenv(LibraryEnv); name != "" {
		return []string{name}
	}
	if getenv("OMPI_COMM_WORLD_SIZE") != "" {
		return append(append([]string{}, openMPI...), mpich...)
	}
	return append(append([]string{}, mpich...), openMPI...)
}

// abi holds the values that differ between the two binary interfaces.
type abi struct {
	world, byteType, errorsReturn uintptr // handles
	ignoreStatus                  uintptr
	requestSize                   int // bytes of a request handle in an array
}

// The handles of MPICH's ABI are numbers; those of Open MPI are addresses.
var mpichABI = abi{world: 0x44000000, byteType: 0x4c00010d, errorsReturn: 0x54000001, ignoreStatus: 1, requestSize: 4}

// function is the index of an MPI function in the tables below.
type function int

const (
	initThread function = iota
	finalize
	commRank
	commSize
	setErrhandler
	sendEager
	sendMatched
	receive
	test
	testAll
	cancel
	startBarrier
	functions
)

var functionNames = [functions]string{
	"MPI_Init_thread", "MPI_Finalize", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_set_errhandler",
	"MPI_Isend", "MPI_Issend", "MPI_Irecv", "MPI_Test", "MPI_Testall", "MPI_Cancel", "MPI_Ibarrier",
}

// library is a loaded MPI library.
type library struct {
	abi
	name    string // file name under which it was found
	version string // as the library reports it
	entries [functions]uintptr
}

// load finds a library, loads it and determines its ABI.
func load(getenv func(string) string) (*library, error) {
	var tried []string
	for _, name := range candidates(getenv) {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			tried = append(tried, err.Error())
			continue
		}
		lib, err := resolve(name, handle)
		if err != nil {
			return nil, err
		}
		return lib, nil
	}
	return nil, fmt.Errorf("%w: looked in the loader's path and LD_LIBRARY_PATH (%q), or set %s to a file:\n\t%s",
		ErrLibrary, getenv("LD_LIBRARY_PATH"), LibraryEnv, strings.Join(tried, "\n\t"))
}

func resolve(name string, handle uintptr) (*library, error) {
	lib := &library{name: name}
	for i, f := range functionNames {
		entry, err := purego.Dlsym(handle, f)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrLibrary, name, err)
		}
		lib.entries[i] = entry
	}
	version, err := purego.Dlsym(handle, "MPI_Get_library_version")
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLibrary, name, err)
	}
	text, size := make([]byte, 8192), new(int32)
	purego.SyscallN(version, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(size)))
	text, _, _ = bytes.Cut(text, []byte{0})
	lib.version, _, _ = strings.Cut(string(text), "\n")
	lib.version, _, _ = strings.Cut(lib.version, ",") // the name of the builder follows
	lib.version = strings.Join(strings.Fields(lib.version), " ")
	lib.abi, err = abiOf(lib.version, func(symbol string) uintptr {
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return 0
		}
		return address
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLibrary, name, err)
	}
	return lib, nil
}

// abiOf determines the ABI of a library from its symbols and its version.
func abiOf(version string, symbol func(string) uintptr) (abi, error) {
	if world := symbol("ompi_mpi_comm_world"); world != 0 {
		a := abi{world: world, byteType: symbol("ompi_mpi_byte"), errorsReturn: symbol("ompi_mpi_errors_return"), requestSize: 8}
		if a.byteType == 0 || a.errorsReturn == 0 {
			return abi{}, fmt.Errorf("%q has ompi_mpi_comm_world, but not ompi_mpi_byte and ompi_mpi_errors_return", version)
		}
		return a, nil
	}
	for _, family := range []string{"MPICH", "Intel(R) MPI", "MVAPICH"} {
		if strings.Contains(version, family) {
			return mpichABI, nil
		}
	}
	return abi{}, fmt.Errorf("%q has neither the ABI of Open MPI (the symbol ompi_mpi_comm_world) nor that of MPICH", version)
}

// serialized is the required thread level: any thread may call, but only one at a time.
const serialized = 2

var levels = [...]string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}

// enough returns an error if a thread level is too low.
func (l *library) enough(level int32) error {
	if level >= serialized {
		return nil
	}
	return fmt.Errorf("%s (%s) offers thread level %s, and %s is needed: use a library built with threads",
		l.version, l.name, levels[max(level, 0)], levels[serialized])
}

// tame keeps the library from handling the signals that Go handles. If processes outnumber
// cores, Open MPI yields the core in each call that finds nothing. tame turns this off, too,
// because run sleeps instead. It also silences UCX, which would report a dead peer on the standard
// output of the program.
func tame() error {
	for name, value := range map[string]string{"OMPI_MCA_mpi_yield_when_idle": "0", "UCX_LOG_FILE": "stderr"} {
		if _, given := os.LookupEnv(name); given {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return os.Setenv("UCX_ERROR_SIGNALS", "")
}

// code is the result of an MPI function.
type code int32

func (c code) err(f function) error {
	if c == 0 {
		return nil
	}
	return fmt.Errorf("%s failed with MPI error code %d", functionNames[f], int32(c))
}
