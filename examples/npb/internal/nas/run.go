package nas

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra"
)

// Run is the part that all benchmarks have in common: the process, the settings and the
// progress.
//
//intra:state skip(P, Set, told)
type Run struct {
	P    *intra.Process
	Set  Settings
	told io.Writer // progress is printed here; nil: nowhere

	Done    int // steps
	Seconds Seconds
}

// Do runs that many steps, or those that follow the saved state, with a safe
// point before each. begin runs first, and its time does not count.
func (r *Run) Do(steps int, begin, step func() error) error {
	if !r.P.Restored() {
		if err := begin(); err != nil {
			return err
		}
		r.Seconds = 0
		if err := gather(r.P); err != nil {
			return err
		}
	}
	for r.Done < steps {
		if err := r.P.SafePoint(); err != nil {
			return err
		}
		r.P.Progress(r.Done, steps)
		done := Clock(&r.Seconds)
		if err := step(); err != nil {
			return err
		}
		done()
		r.Done++
	}
	return nil
}

// Elapsed returns how long the benchmark took.
func (r *Run) Elapsed() Seconds { return r.Seconds }

// gather waits until all processes are here, so that no time includes the
// set-up of another process: the replicas in a section that is empty, then the
// ranks.
func gather(p *intra.Process) error {
	if err := p.Section().End(); err != nil {
		return err
	}
	return p.World().Barrier()
}

// Tell prints the progress of the benchmark, for people.
func (r *Run) Tell(format string, args ...any) {
	if r.told != nil {
		fmt.Fprintf(r.told, format, args...)
	}
}
