package intra

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/vary"
)

var errVaried = errors.New("intravary compares whole runs, and this process was restored: leave out -restart, -replace and -backup")

// attach connects a recorder of intravary to this process, if intravary has started the
// job. The recorder watches and disturbs the process. It sees data that no output file
// shows: the registered variables with their types at every safe point, and the results of
// tasks before they are used.
func (p *Process) attach() (err error) {
	if p.varied, err = vary.Attach(p.Rank(), p.Replica(), p.Size()); p.varied != nil && p.Restored() {
		return errVaried
	}
	return err
}

// vary makes the recorder compare the registered variables at a safe point.
func (p *Process) vary(point uint64) error {
	vars, err := p.run.Variables()
	if err == nil {
		err = p.varied.Pass(point, vars)
	}
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	return nil
}
