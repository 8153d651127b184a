package comm

import (
	"errors"
	"fmt"
)

// ErrAnySource means that AnySource was used although AssertNoAnySource was called.
var ErrAnySource = errors.New("from any source, which the program asserts never to do")

// AssertNoAnySource asserts that no rank of the job will receive or probe from AnySource,
// on any communicator, like mpi_assert_no_any_source of MPI. AnySource is an error from
// then on.
//
// In a program that also calls AssertSendDeterministic, messages of replicated ranks then
// carry no causal history. The size of that history grows with the number of ranks if there
// are no collectives of all ranks.
//
// Every rank calls AssertNoAnySource on the world before it sends anything on any
// communicator, and before it receives from any source. The assertion holds for the whole
// job, since a message of one communicator may depend on those of another.
func (c *Comm) AssertNoAnySource() error {
	return c.assert("assert no any source", 'a')
}

// assert records an assertion about the whole program. The program may repeat it.
func (c *Comm) assert(text string, what byte) error {
	if err := c.exists(); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if c.parent != nil {
		return fmt.Errorf("%s: it holds for all communicators, call it on the world: %w", text, ErrRank)
	}
	for _, a := range c.family.assertions() {
		if a.what != what || a.at.Load() != nil {
			continue
		}
		if c.engine.Restored() {
			return fmt.Errorf("%s: not said before the safe point: %w", text, ErrRestored)
		}
		at := userCode()
		if err := a.say(c.engine, at); err != nil {
			return fmt.Errorf("%s: %w: call it first (%s)", text, err, at)
		}
		a.at.Store(&at)
	}
	return nil
}

// checkAny rejects AnySource if the program has asserted not to use it.
func (c *Comm) checkAny() error {
	at := c.family.asserted.Load()
	if at == nil {
		return nil
	}
	return fmt.Errorf("%w (%s; asserted at %s)", ErrAnySource, userCode(), *at)
}
