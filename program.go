package intra

import (
	"errors"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/checked"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// program returns the function that an engine runs: it calls run with a Process. In checked
// mode it also has a trial that checks the program. silence suppresses the output of the
// program while a trial restores it.
func program(run func(*Process) error, silence func() (speak func(), err error)) func(*engine.Program) error {
	c := &checked.Program{
		Run: func(again *engine.Program, t *checked.Trial) error {
			p := newProcess(again)
			p.trial = t
			return guard(p, run)
		},
		Report: findings, Fault: ownFault, Silence: silence,
		OneMemory: silence == nil, // silence is nil in a job of Run
	}
	return func(of *engine.Program) error {
		if len(bridge.OutOfDate) > 0 && slices.Max(of.Degrees) > 1 {
			return bridge.OutOfDateError(strings.Join(bridge.OutOfDate, ", "))
		}
		p := newProcess(of)
		if p.engine.Checked() {
			p.trial = checked.NewTrial(c, of)
		} else if err := p.attach(); err != nil {
			return err
		}
		if err := guard(p, run); err != nil || p.trial == nil {
			return err
		}
		return p.trial.Returned()
	}
}

// ownFault reports whether the program has caused err.
func ownFault(err error) bool {
	var found *CheckError
	return !errors.Is(err, ErrDiverged) && !errors.Is(err, engine.ErrCorrupt) && !errors.Is(err, ErrJobEnded) && !errors.As(err, &found)
}
