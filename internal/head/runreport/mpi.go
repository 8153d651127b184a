package runreport

import "github.com/intrahpc/intra/internal/job"

// MPI is the native MPI library that the messages went over. See docs/cluster.md.
type MPI struct {
	Library     string `json:"library"`      // its description of itself
	File        string `json:"file"`         // the name by which it was found
	ThreadLevel string `json:"thread_level"` // the level that it offers
	// processes that joined later, with links of intrarun's own: over TCP, or over shared memory
	// within a host
	Outside []Outsider `json:"outside"`
}

// Outsider is a process whose links go over no MPI library.
type Outsider struct {
	Process     job.Process `json:"process"`     // its name
	Incarnation uint32      `json:"incarnation"` // counts the processes of that name, from 1
}
