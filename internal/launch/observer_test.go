package launch

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// deafObserver takes everything and does nothing.
type deafObserver struct{}

func (deafObserver) started(job.Process, int, error)           {}
func (deafObserver) hello(job.Process, *job.Hello)             {}
func (deafObserver) message(job.Process, *job.Message)         {}
func (deafObserver) unheard(job.Process, silence)              {}
func (deafObserver) output(job.Process, output.Stream, []byte) {}
func (deafObserver) quiet(job.Process, uint64)                 {}
func (deafObserver) stopped(job.Process, time.Duration)        {}
func (deafObserver) programGone(job.Process)                   {}
func (deafObserver) exited(job.Process, exit)                  {}
func (deafObserver) failed(error)                              {}
