package launch

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/supervise"
)

// deafObserver takes everything and does nothing.
type deafObserver struct{}

func (deafObserver) Started(job.Process, int, error)           {}
func (deafObserver) Hello(job.Process, *job.Hello)             {}
func (deafObserver) Message(job.Process, *job.Message)         {}
func (deafObserver) Unheard(job.Process, supervise.Silence)    {}
func (deafObserver) Output(job.Process, output.Stream, []byte) {}
func (deafObserver) Quiet(job.Process, uint64)                 {}
func (deafObserver) Stopped(job.Process, time.Duration)        {}
func (deafObserver) ProgramGone(job.Process)                   {}
func (deafObserver) Exited(job.Process, supervise.Exit)        {}
func (deafObserver) Failed(error)                              {}
