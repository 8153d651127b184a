package runreport

import "github.com/intrahpc/intra/internal/job"

// MPI is the native MPI library that carried the messages. See docs/cluster.md.
type MPI struct {
	Library     string `json:"library"`      // name and version that the library reports
	File        string `json:"file"`         // the file from which it was loaded
	ThreadLevel string `json:"thread_level"` // the level of thread support that it offers
	// processes that joined later. Their links are intrarun's own: over TCP, or over shared memory
	// within a host
	Outside []Outsider `json:"outside"`
}

// Outsider is a process whose links do not use the MPI library.
type Outsider struct {
	Process     job.Process `json:"process"`     // its name
	Incarnation uint32      `json:"incarnation"` // its number in that slot; the first process has 1
}
