package intra

import "fmt"

// Settle completes all sections that have ended without waiting, see [NoWait]: when
// it returns nil, what their tasks write is the same on every replica, and all
// that they name is the program's again.
func (p *Process) Settle() error {
	if p.local() {
		return nil
	}
	if p.section != nil {
		return fmt.Errorf("intra.Settle in the section opened at %s: call it before or after", p.section.position())
	}
	return p.engine.Settle()
}
