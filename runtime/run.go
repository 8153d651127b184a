package intra

import (
	"context"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/localjob"
)

// ErrLost means that a rank has lost all its replicas.
var ErrLost = localjob.ErrLost

// Run runs a job in this process: each replica of each rank is a goroutine
// that calls run with a Process of its own. It is for tests and for trying
// things out; what the replicas share by accident (package variables,
// captured variables) is not replicated. It returns nil when every rank has
// finished in at least one replica.
func Run(ctx context.Context, spec Spec, run func(*Process) error) error {
	return localjob.Run(ctx, spec, localjob.Program{
		Run: program(run, nil), Failure: failure, Hello: job.Hello{Tag: Tagged, Tasks: tasks}})
}
