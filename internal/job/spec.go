package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Spec describes a job. The zero value is one rank with one replica.
type Spec struct {
	Ranks    int    // logical ranks; 0 means 1, or len(Degrees)
	Replicas int    // replicas of every rank; 0 means 1
	Degrees  []int  // number of replicas of each rank; if set, Replicas must be 0
	Link     string // kind of link between processes; "" means the default
	Check    bool   // checked mode
}

// The kinds of links between processes of one host.
const (
	LinkAuto = "auto" // the fastest
	LinkSHM  = "shm"  // rings in shared memory
	LinkUnix = "unix" // unix sockets
	LinkTCP  = "tcp"  // TCP over the loopback interface
)

// LinkMPI is the kind of the links over a native MPI library, within a host and
// between hosts.
const LinkMPI = "mpi"

// MaxDegree bounds the replicas of a rank, because messages represent a set of replicas by
// 64 bits.
const MaxDegree = 64

// ErrSpec marks an invalid description of a job.
var ErrSpec = errors.New("invalid job")

// Resolve returns the degree of each rank.
func (s Spec) Resolve() ([]int, error) {
	if s.Degrees != nil {
		switch {
		case s.Replicas != 0:
			return nil, fmt.Errorf("%w: both degrees and a number of replicas are given", ErrSpec)
		case s.Ranks != 0 && s.Ranks != len(s.Degrees):
			return nil, fmt.Errorf("%w: %d degrees for %d ranks", ErrSpec, len(s.Degrees), s.Ranks)
		case len(s.Degrees) == 0:
			return nil, fmt.Errorf("%w: no rank", ErrSpec)
		}
		for rank, d := range s.Degrees {
			if d < 1 || d > MaxDegree {
				return nil, fmt.Errorf("%w: rank %d has degree %d, want 1 to %d", ErrSpec, rank, d, MaxDegree)
			}
		}
		return slices.Clone(s.Degrees), nil
	}
	ranks, replicas := max(s.Ranks, 0), s.Replicas
	if ranks == 0 && s.Ranks == 0 {
		ranks = 1
	}
	if replicas == 0 {
		replicas = 1
	}
	if ranks < 1 || replicas < 1 {
		return nil, fmt.Errorf("%w: %d ranks with %d replicas each, want at least 1 of both", ErrSpec, s.Ranks, s.Replicas)
	}
	if replicas > MaxDegree {
		return nil, fmt.Errorf("%w: %d replicas of each rank, want at most %d", ErrSpec, replicas, MaxDegree)
	}
	return slices.Repeat([]int{replicas}, ranks), nil
}

// Process names one physical process of a job, written rank.replica.
type Process struct {
	Rank    int
	Replica int
}

func (p Process) String() string { return fmt.Sprintf("%d.%d", p.Rank, p.Replica) }

// Compare orders processes by rank, then by replica.
func (p Process) Compare(q Process) int {
	return cmp.Or(cmp.Compare(p.Rank, q.Rank), cmp.Compare(p.Replica, q.Replica))
}

// MarshalText writes the form of String, so that a Process can be a key in JSON.
func (p Process) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the form that String returns.
func (p *Process) UnmarshalText(b []byte) error {
	q, err := ParseProcess(string(b))
	if err == nil {
		*p = q
	}
	return err
}

// ParseProcess parses RANK.REPLICA.
func ParseProcess(s string) (Process, error) {
	rank, replica, ok := strings.Cut(s, ".")
	a, err1 := strconv.ParseUint(rank, 10, 31)
	b, err2 := strconv.ParseUint(replica, 10, 31)
	if !ok || err1 != nil || err2 != nil {
		return Process{}, fmt.Errorf("%q is not a process: want RANK.REPLICA, like 0.1", s)
	}
	return Process{Rank: int(a), Replica: int(b)}, nil
}

// Processes lists all processes of a job, rank by rank.
func Processes(degrees []int) []Process {
	var all []Process
	for rank, d := range degrees {
		for replica := range d {
			all = append(all, Process{rank, replica})
		}
	}
	return all
}

// Endpoint is one incarnation of a process.
type Endpoint struct {
	Process     Process
	Incarnation uint32
}

// Compare orders processes by slot, and in one slot by incarnation.
func (e Endpoint) Compare(o Endpoint) int {
	return cmp.Or(e.Process.Compare(o.Process), cmp.Compare(e.Incarnation, o.Incarnation))
}

func (e Endpoint) String() string { return fmt.Sprintf("%v#%d", e.Process, e.Incarnation) }
