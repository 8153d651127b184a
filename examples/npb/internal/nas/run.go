package nas

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra"
)

// Run is the common part of all benchmarks: the process, the settings and the progress.
//
//intra:state skip(P, Set, progress)
type Run struct {
	P        *intra.Process
	Set      Settings
	progress io.Writer // receives the progress as text; nil: no output

	Done    int // number of completed steps
	Seconds Seconds
}

// Do carries out steps steps, or those after the saved state, with a safe point before
// each. It first calls begin, whose time does not count.
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

// Elapsed returns the measured time of the benchmark.
func (r *Run) Elapsed() Seconds { return r.Seconds }

// gather waits for all processes: first for the replicas of the rank, in an empty section,
// and then for all ranks. So no time includes the set-up of another process.
func gather(p *intra.Process) error {
	if err := p.Section().End(); err != nil {
		return err
	}
	return p.World().Barrier()
}

// Tell prints the progress of the benchmark as text for people.
func (r *Run) Tell(format string, args ...any) {
	if r.progress != nil {
		fmt.Fprintf(r.progress, format, args...)
	}
}
