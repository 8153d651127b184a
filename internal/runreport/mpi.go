package runreport

import "github.com/intrahpc/intra/internal/job"

// MPI is the native MPI library that the messages went over.
type MPI struct {
	Library     string `json:"library"` // what it says of itself
	File        string `json:"file"`
	ThreadLevel string `json:"thread_level"`
	// Outside are the processes that came later: they are not in MPI_COMM_WORLD, and
	// their links are over TCP, or over shared memory within a host.
	Outside []Outsider `json:"outside"`
}

// Outsider is a process whose links go over no MPI library.
type Outsider struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
}
