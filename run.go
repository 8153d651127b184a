package intra

import (
	"context"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/localjob"
)

// ErrLost means that a rank has lost all its replicas.
var ErrLost = localjob.ErrLost

// Spec describes a job that Run runs in one process. The zero value is one rank with one
// replica.
type Spec struct {
	Ranks    int    // logical ranks; 0 means 1, or len(Degrees)
	Replicas int    // replicas of every rank; 0 means 1
	Degrees  []int  // number of replicas of each rank; if set, Replicas must be 0
	Link     string // link between processes: auto, shm, unix or tcp; "" means links in memory
	Check    bool   // checked mode
}

// Run runs a job in this process: each replica of each rank is a goroutine that calls run
// with its own Process. It is for tests and for experiments. Package variables and captured
// variables are not replicated: all replicas share them. Run returns nil when every rank
// has finished in at least one replica.
func Run(ctx context.Context, spec Spec, run func(*Process) error) error {
	return localjob.Run(ctx, job.Spec(spec), localjob.Program{
		Run: program(run, nil), Failure: failure, Hello: job.Hello{Tag: Tagged, Tasks: tasks}})
}
